"""Where each shell looks for completion, and which line makes it look."""

import os
import platform
import shlex
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from prime_cli.core.errors import NotFound, UsageError
from prime_cli.core.process import TimedOut, child_environment, run

_ASK_SECONDS = 60
_PROFILE = "[Console]::OutputEncoding = [Text.Encoding]::UTF8; $PROFILE.CurrentUserAllHosts"


@dataclass(frozen=True)
class Place:
    """The file for the script; `rc` is the file that must hold `line`, if the shell needs one."""

    shell: str
    script: Path
    rc: Path | None = None
    line: str = ""


def place_for(shell: str, *, home: Path, prime_home: Path, environ: Mapping[str, str]) -> Place:
    """Where completion of `shell` belongs, for the user whose folder is `home`.

    fish loads scripts of a folder by itself. bash and zsh have no such folder that is always
    looked at, so they read one line. PowerShell is asked where its profile is; raises NotFound
    where it is not on this machine, UsageError for a folder whose name does not fit on one line.
    """
    kept = (prime_home / "completion").absolute()
    if not str(kept).isprintable():
        raise UsageError("The name of prime's home has characters that no line of a script holds")
    match shell:
        case "fish":
            folder = Path(environ.get("XDG_CONFIG_HOME") or home / ".config")
            return Place(shell, folder / "fish" / "completions" / "prime.fish")
        case "zsh":
            script, rc = kept / "_prime", Path(environ.get("ZDOTDIR") or home) / ".zshrc"
            told = _quoted(script, home)
            return Place(shell, script, rc, f"if [[ -r {told} ]]; then source {told}; fi")
        case "powershell":
            script = kept / "prime.ps1"
            told = "'" + str(script).replace("'", "''") + "'"
            line = f"if (Test-Path -LiteralPath {told}) {{ . {told} }}"
            return Place(shell, script, _powershell_profile(), line)
    script = kept / "prime.bash"
    told = _quoted(script, home)
    # macOS reads a profile, which other shells may read too.
    line = f'if [ -n "$BASH_VERSION" ] && [ -r {told} ]; then . {told}; fi'
    return Place(shell, script, _bash_rc(home), line)


def _bash_rc(home: Path) -> Path:
    """`.bashrc`; on macOS, whose terminals start login shells, the profile that is read."""
    if platform.system() != "Darwin":  # `sys.platform` would be a constant to mypy
        return home / ".bashrc"
    names = (".bash_profile", ".bash_login", ".profile")
    there = (home / name for name in names if (home / name).exists())
    return next(there, home / ".bash_profile")


def _quoted(path: Path, home: Path) -> str:
    """For bash and zsh; by `$HOME` where it can be, as rc files are shared between machines."""
    if path.is_relative_to(home):
        return '"$HOME"/' + shlex.quote(path.relative_to(home).as_posix())
    return shlex.quote(path.as_posix())


def _powershell_profile() -> Path:
    program = shutil.which("pwsh") or shutil.which("powershell")
    hint = "load it by hand: `prime completion powershell | Out-String | Invoke-Expression`"
    if program is None:
        raise NotFound("PowerShell is not on this machine", hint=hint)
    try:
        said = run(
            [program, "-NoProfile", "-NonInteractive", "-Command", _PROFILE],
            env=child_environment(os.environ),
            timeout=_ASK_SECONDS,
        )
    except (OSError, TimedOut) as error:
        raise NotFound("PowerShell did not say where its profile is", hint=hint) from error
    if not said.ok or not said.out.strip():
        raise NotFound(
            "PowerShell did not say where its profile is", hint=hint, detail=said.last_lines()
        )
    return Path(said.out.strip().splitlines()[-1])
