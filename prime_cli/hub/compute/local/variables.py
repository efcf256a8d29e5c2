"""Which variables a pod may be given: those that arrive as they are, and break no login."""

import re
from collections.abc import Mapping

from prime_cli.core.errors import UsageError

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_LONGEST = 100_000
"""Linux takes at most 128 KiB in one variable."""
_MOST = 1_000_000

_OF_THE_POD = frozenset(
    {"HOME", "USER", "LOGNAME", "SHELL", "MAIL", "PWD", "OLDPWD", "CUDA_VISIBLE_DEVICES"}
)
_OF_SHELLS = frozenset(
    "BASHOPTS BASHPID CDPATH DIRSTACK ENV EUID FUNCNAME GROUPS HISTCMD IFS LINENO OPTARG OPTIND "
    "PPID PS1 PS2 PS3 PS4 RANDOM SECONDS SHELLOPTS SHLVL UID".split()
)
_BEGINNINGS = ("BASH_", "DYLD_", "LD_", "PRIME_POD_", "SSH_")


def require_sound(variables: Mapping[str, str]) -> None:
    """Raise UsageError that names the first variable which cannot be handed over as it is.

    Refused are names that no shell can set, those that the pod or its shells set themselves, those
    that put other code before every program (`LD_PRELOAD`, `BASH_ENV`), and values that no process
    can have. `PATH` is taken; what a login shell reads may set it anew.
    """
    for name, value in variables.items():
        why = _wrong_with(name, value)
        if why:
            raise UsageError(f"A pod on this machine cannot have the variable `{name}`: {why}")
    if sum(len(name) + len(value.encode()) for name, value in variables.items()) > _MOST:
        raise UsageError(f"The variables of a pod have more than {_MOST} bytes together")


def _wrong_with(name: str, value: str) -> str | None:
    if _NAME.fullmatch(name) is None:
        return "it is no name of a variable"
    if name in _OF_THE_POD:
        return "the pod sets it"
    if name in _OF_SHELLS or name.startswith(_BEGINNINGS):
        return "it belongs to the shell, the loader or sshd"
    try:
        size = len(value.encode())
    except UnicodeEncodeError:
        return "its value is no text"
    if "\0" in value:
        return "its value holds a null byte"
    return f"its value has more than {_LONGEST} bytes" if size > _LONGEST else None
