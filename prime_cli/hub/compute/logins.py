"""Logins to a pod, whatever its provider: keys, variables and disks."""

import re
import shlex
from collections.abc import Mapping, Sequence

from prime_cli.core.errors import UsageError
from prime_cli.hub.compute.provider import Mount

_TAG = re.compile(r"prime-[a-z0-9-]{1,40}", re.ASCII)


def is_tag(text: str) -> bool:
    """Whether this is a valid name for a folder, a container and a volume."""
    return _TAG.fullmatch(text) is not None


def require_tag(tag: str) -> None:
    """Raise UsageError for what `is_tag` refuses."""
    if not is_tag(tag):
        raise UsageError(f"`{tag}` is not the tag of a pod or a disk")


# --- Sessions and keys ---

_SESSION = """\
cd -- "$HOME" || exit 1
umask 077
{exports}if [ -n "${{SSH_ORIGINAL_COMMAND+set}}" ]; then
  exec "$SHELL" -c "$SSH_ORIGINAL_COMMAND"
fi
exec "$SHELL" -l
"""


def session_script(variables: Mapping[str, str]) -> str:
    """The script that sh runs at each login: the pod's home, variables, then a command or a shell.

    Between single quotes nothing means anything to sh (POSIX, 2.2.2), so values arrive as they
    are; they are in a file, since words of a command can be read by everybody on the machine.
    """
    exports = "".join(f"export {name}={shlex.quote(text)}\n" for name, text in variables.items())
    return _SESSION.format(exports=exports)


def authorized_keys(keys: Sequence[str]) -> str:
    """The file as sshd reads it (sshd(8)): a key is one line, whatever it contains."""
    return "".join(f"{' '.join(key.split())}\n" for key in keys)


def make_host_key() -> tuple[bytes, str]:
    """A private key in OpenSSH's format, and its public half as `ssh-ed25519 AAAA…`."""
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    key = Ed25519PrivateKey.generate()
    private = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.OpenSSH,
        serialization.NoEncryption(),
    )
    public = key.public_key().public_bytes(
        serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH
    )
    return private, public.decode()


# --- Disks ---


def link_names(disks: Sequence[Mount]) -> dict[str, str]:
    """The name of each disk, by its tag, in a pod's home: its own name, if that is plain."""
    names: dict[str, str] = {}
    for disk in disks:
        plain = "".join(c if c.isascii() and (c.isalnum() or c in "_-") else "-" for c in disk.name)
        plain = plain.strip("-")[:64] or "disk"
        names[disk.tag] = f"{plain}-{disk.disk_id[:8]}" if plain in names.values() else plain
    return names


# --- Variables ---

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


def require_variables(variables: Mapping[str, str]) -> None:
    """Raise UsageError naming the first variable that cannot be passed unchanged.

    Refuses names that no shell can set, those that the pod or its shells set themselves, those that
    run other code before every program (`LD_PRELOAD`, `BASH_ENV`), and values that no process can
    have. `PATH` is allowed, but a login shell's files may change it.
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
