"""Prime's home is its owner's: what others could read or change of it is closed to them."""

import os
import stat
from pathlib import Path

_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def repair_modes(home: Path) -> list[str]:
    """Close `home`, config.toml and credentials.toml to other users; a sentence for each.

    What cannot be changed stays as it is, as on a disk that is read only or belongs to somebody
    else; nothing is made. Windows keeps home folders to their owners by itself.
    """
    if os.name != "posix" or not home.is_dir():
        return []
    files = [home / name for name in ("credentials.toml", "config.toml")]
    repaired = [_close(file, 0o600) for file in files if file.is_file()]
    # A folder that holds nothing of ours, or is also somebody's home, is not ours to close.
    if any(file.exists() for file in files) and not _is_shared(home):
        repaired.append(_close(home, 0o700))
    return [sentence for sentence in repaired if sentence]


def open_to_others(path: Path) -> int | None:
    """The mode of `path`, if users other than its owner may do anything with it."""
    if os.name != "posix":
        return None
    mode = stat.S_IMODE(path.stat().st_mode)
    return mode if mode & _OTHERS else None


def _close(path: Path, mode: int) -> str | None:
    try:
        before = open_to_others(path)
        if before is None:
            return None
        path.chmod(mode)
    except OSError:
        return None
    return f"{path} was open to other users (mode {before:04o}); it is {mode:04o} now"


def _is_shared(folder: Path) -> bool:
    try:
        is_home = folder.samefile(Path.home())
    except (OSError, RuntimeError):
        is_home = False
    return is_home or bool(folder.stat().st_mode & stat.S_ISVTX)
