"""The one line that prime adds to ~/.ssh/config, so that ssh reads the aliases of pods."""

import codecs
import os
import shlex
import stat
import sys
from contextlib import suppress
from pathlib import Path

from prime_cli.core.errors import PrimeError, StorageFailed
from prime_cli.core.file_locks import locked
from prime_cli.core.paths import storage_errors, write_atomically
from prime_cli.core.progress import Progress
from prime_cli.pods.ssh.config import SshFiles
from prime_cli.pods.ssh.routes import quote_path

_MODE = 0o600


def include_aliases(files: SshFiles, progress: Progress) -> bool:
    """Add an `Include` of prime's aliases to the top of ~/.ssh/config; whether ssh knows them now.

    Keeps the rest of the file, its mode and the link that it may be. The addition is reported; a
    failure is only a warning, since the pod can be reached anyway.
    """
    try:
        config = Path.home() / ".ssh" / "config"
        with locked(files.lock):
            added = _add(config, f"Include {quote_path(files.config)}")
    except RuntimeError:  # no home
        return False
    except PrimeError as error:
        progress.warn(
            f"Plain ssh cannot connect to the pod: {error.message}",
            hint=f"`Include {files.config}` at the top of ~/.ssh/config fixes this; "
            "skip it with `--no-config`",
        )
        return False
    if added:
        progress.say(f"Added a line to {config} for plain ssh")
    return True


def plain_command(alias: str) -> str:
    """The plain ssh command for a pod's alias.

    ssh gets the user's home from the system, and ignores files in a different HOME.
    """
    home = Path.home()
    if home == _home_of_ssh(home):
        return f"ssh {alias}"
    return f"ssh -F {shlex.quote(str(home / '.ssh' / 'config'))} {alias}"


def _home_of_ssh(home: Path) -> Path | None:
    """The system's home of this user; `home` if it keeps no list of users."""
    if sys.platform == "win32":
        return home
    import pwd

    with suppress(KeyError):
        return Path(pwd.getpwuid(os.getuid()).pw_dir)
    return None


def _add(config: Path, line: str) -> bool:
    """Put `line` before everything else, unless present; raises StorageFailed."""
    with storage_errors(config):
        # If it is a link, as with dotfiles, edit the file behind it.
        target = config.resolve() if config.is_symlink() else config
        content = target.read_bytes() if target.exists() else b""
        mode = stat.S_IMODE(target.stat().st_mode) if target.exists() else _MODE
    body = content.removeprefix(codecs.BOM_UTF8)
    if _has(body, line):
        return False
    if target.exists() and not os.access(target, os.W_OK):
        raise StorageFailed(f"{config} cannot be written: it is read only")
    end = b"\r\n" if b"\r\n" in body else b"\n"
    write_atomically(target, line.encode() + end + body, mode=mode)
    # This process's umask may have narrowed the file's mode.
    with suppress(OSError):
        target.chmod(mode)
    return True


def _has(content: bytes, line: str) -> bool:
    """Whether the line is present for every host: before the first `Host`."""
    wanted = line.partition(" ")[2].strip('"')
    for each in content.decode("utf-8", "replace").splitlines():
        keyword, _, rest = each.strip().partition(" ")
        if keyword.lower() in ("host", "match"):
            return False
        if keyword.lower() == "include" and rest.strip().strip('"') == wanted:
            return True
    return False
