"""Where prime keeps its files, and how it writes them: atomically, readable by their owner only."""

import errno
import hashlib
import os
import stat
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from prime_cli.core.errors import StorageFailed

FULL_DISK_HINT = "free some space, then run the same command again"
FINISHED = ".complete"
"""A file in the folder of an engine whose installation was finished."""

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)


_XDG = {
    "XDG_CONFIG_HOME": ".config",
    "XDG_CACHE_HOME": ".cache",
    "XDG_DATA_HOME": ".local/share",
    "XDG_STATE_HOME": ".local/state",
}
"""The variables of the XDG Base Directory Specification, and what they are below home if unset."""

_PLACES = {
    # Scripts of shells read these from one folder, so completion is no state.
    **dict.fromkeys(
        ("config.toml", "credentials.toml", "trusted.toml", "allowed_signers", "allowed_identities",
         "prices.toml", "endpoints.toml", "completion"),
        "XDG_CONFIG_HOME",
    ),
    **dict.fromkeys(
        ("cache", "interpreters", "wheels", "locks", "bundles", "sandbox", "uv", "engines"),
        "XDG_CACHE_HOME",
    ),
    **dict.fromkeys(("limits", "bugs"), "XDG_STATE_HOME"),
}  # fmt: skip
"""What lies elsewhere than in XDG_DATA_HOME."""

_OFFICIAL = "config.json"
"""The file that the official client creates in `~/.prime`."""


def prime_home() -> Path:
    """`$PRIME_HOME`, else `~/.prime`, else `prime` in XDG_DATA_HOME (see `home_path`)."""
    named = os.environ.get("PRIME_HOME")
    if named:
        return Path(named).expanduser()
    try:
        usual = Path.home() / ".prime"
    except RuntimeError as error:
        raise StorageFailed(
            "No home folder for prime's files",
            hint="set PRIME_HOME to a writable folder",
        ) from error
    return _xdg_folder("XDG_DATA_HOME") if _uses_xdg(usual) else usual


def home_path(home: Path, name: str) -> Path:
    """Where the file or folder `name` of prime's home is: in it, or in another folder of XDG.

    The latter only if `home` was found by XDG's variables.
    """
    variable = _PLACES.get(name.partition("/")[0])
    if variable is None or not any(map(os.environ.get, _XDG)) or os.environ.get("PRIME_HOME"):
        return home / name
    is_xdg = home == _xdg_folder("XDG_DATA_HOME")
    return (_xdg_folder(variable) if is_xdg else home) / name


def home_folders() -> tuple[Path, ...]:
    """Every folder of prime's own: one, or four with XDG's variables."""
    home = prime_home()
    return tuple(dict.fromkeys([home, *(home_path(home, name).parent for name in _PLACES)]))


def _uses_xdg(usual: Path) -> bool:
    """Whether one of XDG's variables is set and `~/.prime` is not there, or not prime's."""
    if not any(map(os.environ.get, _XDG)):
        return False
    # Otherwise the official client would switch prime to another home by creating its file.
    is_official = (usual / _OFFICIAL).exists() and not any((usual / n).exists() for n in _PLACES)
    return is_official or not usual.exists()


def _xdg_folder(variable: str) -> Path:
    """The specification says to ignore a relative path."""
    named = Path(os.environ.get(variable, ""))
    return (named if named.is_absolute() else Path.home() / _XDG[variable]) / "prime"


@contextmanager
def storage_errors(path: Path) -> Iterator[None]:
    """Turn an OSError on `path` into a StorageFailed that says what to do."""
    try:
        yield
    except OSError as error:
        raise storage_failure(path, error) from error


def storage_failure(path: Path, error: OSError) -> StorageFailed:
    """The StorageFailed for an OSError on `path`."""
    failure = _describe(path, error)
    failure.names_places = True
    return failure


def _describe(path: Path, error: OSError) -> StorageFailed:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return StorageFailed(
            f"The disk is full: {path} was not written",
            hint=FULL_DISK_HINT,
        )
    if error.errno in (errno.EROFS, errno.EACCES, errno.EPERM, errno.ENOTDIR):
        return StorageFailed(f"{path} cannot be written: {error.strerror}", hint=_way_out(path))
    return StorageFailed(f"{path} cannot be used: {error.strerror or error}", hint=_way_out(path))


def _way_out(path: Path) -> str:
    if _is_ours(path):
        return "set PRIME_HOME to a writable folder"
    return "run the command in a writable folder, or choose one"


def _is_ours(path: Path) -> bool:
    return _own_folder(path) is not None


def _own_folder(path: Path) -> Path | None:
    """The one of prime's folders that `path` is in."""
    try:
        folders = home_folders()
    except StorageFailed:
        return None
    inside = (each for each in folders if path.absolute().is_relative_to(each.absolute()))
    return next(inside, None)


def make_folder(path: Path) -> Path:
    """Create `path` (mode 0700) and its parents; raises StorageFailed.

    Parents get the usual mode, but prime's home is always 0700, whatever is created first in it.
    """
    with storage_errors(path):
        own = _own_folder(path)
        if own is not None:
            own.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    return path


def open_descriptor(path: Path, flags: int) -> int:
    """`os.open` for bytes: Windows would turn every `\\n` into two; raises OSError.

    A file that is created has mode 0600.
    """
    return os.open(path, flags | getattr(os, "O_BINARY", 0), 0o600)


def open_regular(path: Path) -> BinaryIO:
    """`path` to read, if it is a file: a pipe would wait for its writer; raises OSError."""
    descriptor = open_descriptor(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "it is not a regular file")
    return os.fdopen(descriptor, "rb")


def flush_file(path: Path) -> None:
    """Wait until the contents of `path` are on disk; raises OSError."""
    with path.open("rb+") as file:
        os.fsync(file.fileno())


def write_atomically(path: Path, content: bytes, *, mode: int = 0o600) -> None:
    """Write `path` completely or leave it unchanged; raises StorageFailed."""
    with replacing(path, mode=mode) as file:
        file.write(content)


@contextmanager
def replacing(path: Path, *, mode: int = 0o600) -> Iterator[BinaryIO]:
    """A new file beside `path`, renamed over it when the block ends well; raises StorageFailed.

    Creates its folder, and syncs its bytes to disk before the rename. If the block raises, `path`
    is unchanged.
    """
    make_folder(path.parent)
    # An unguessable name and a new file: in a folder of others a known one could be a link, or stay
    # open to whoever made it.
    temporary = path.with_name(f".{path.name}.{os.urandom(8).hex()}.tmp")
    with storage_errors(path):
        try:
            descriptor = os.open(temporary, _NEW, mode)
            with os.fdopen(descriptor, "wb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            _rename(temporary, path)
        finally:
            temporary.unlink(missing_ok=True)


def _rename(temporary: Path, path: Path) -> None:
    """Replace `path`; on Windows after waiting for readers (a virus scanner)."""
    for wait in (0.01, 0.05, 0.2, 0.5) if sys.platform == "win32" else ():
        try:
            temporary.replace(path)
        except PermissionError:
            time.sleep(wait)
        else:
            return
    temporary.replace(path)


_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def repair_modes(home: Path) -> list[str]:
    """Close `home`, config.toml and credentials.toml to other users; returns a sentence for each.

    What cannot be changed is skipped, such as on a disk that is read-only or someone else's;
    nothing is created. Windows keeps home folders private by itself.
    """
    files = [home_path(home, name) for name in ("credentials.toml", "config.toml")]
    home = files[0].parent
    if os.name != "posix" or not home.is_dir():
        return []
    repaired = [_close(file, 0o600) for file in files if file.is_file()]
    # Leave a folder alone if it holds nothing of ours, or is also somebody's home.
    if any(file.exists() for file in files) and not _is_shared(home):
        repaired.append(_close(home, 0o700))
    return [sentence for sentence in repaired if sentence]


def executable_in(environment: Path) -> Path:
    """The path of a virtual environment's interpreter on this system."""
    if sys.platform == "win32":
        return environment / "Scripts" / "python.exe"
    return environment / "bin" / "python"


def open_to_others(path: Path) -> int | None:
    """The mode of `path`, if other users have any access to it."""
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
    return f"{path} was accessible to other users (mode {before:04o}); now it has mode {mode:04o}"


def _is_shared(folder: Path) -> bool:
    try:
        is_home = folder.samefile(Path.home())
    except (OSError, RuntimeError):
        is_home = False
    return is_home or bool(folder.stat().st_mode & stat.S_ISVTX)


# --- Unix sockets ---

_LONGEST_SOCKET_PATH = 100
"""sun_path holds 108 bytes on Linux, 104 on macOS."""


def is_short(path: Path) -> bool:
    """Whether a Unix socket can have this path."""
    return len(os.fsencode(path)) <= _LONGEST_SOCKET_PATH


def own_socket(place: Path) -> Path:
    """The short path of the Unix socket of a folder, in a folder of this user alone.

    Every process of the user computes the same one. Raises StorageFailed.
    """
    if sys.platform == "win32":
        raise StorageFailed("There are no Unix sockets on Windows")
    user, name = os.getuid(), hashlib.sha256(os.fsencode(place)).hexdigest()[:24]
    runtime = os.environ.get("XDG_RUNTIME_DIR") or f"/run/user/{user}"
    for base in (runtime, tempfile.gettempdir(), "/tmp"):  # noqa: S108 - a folder of mode 0700
        path = Path(base, f"prime-{user}", f"{name}.sock")
        if Path(base).is_dir() and is_short(path):
            found = make_folder(path.parent).lstat()
            if found.st_uid != user or found.st_mode & 0o077:
                raise StorageFailed(f"{path.parent} is not this user's alone", hint="remove it")
            return path
    raise StorageFailed(f"No folder has a path short enough for the socket of {place}")
