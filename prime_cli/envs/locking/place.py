"""Where a workspace's prime.lock is, and which environments its pyproject.toml wants."""

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from prime_cli.core.errors import BadProject
from prime_cli.core.refs import EnvRef
from prime_cli.envs.locking.file import FILENAME, EnvironmentLock, read_lock
from prime_cli.envs.pyproject import FILENAME as PYPROJECT
from prime_cli.envs.pyproject import get_table, get_texts, read_pyproject

WANTED = "environments"
"""The key of `[tool.prime]` that lists what is wanted."""


@dataclass(frozen=True)
class LockPlace:
    """A workspace's folder with its lock, None where there is none yet.

    `wanted` is what `[tool.prime] environments` lists; None where pyproject.toml has no list.
    """

    folder: Path
    lock: EnvironmentLock | None = None
    wanted: tuple[EnvRef, ...] | None = None

    @property
    def file(self) -> Path:
        """Where the lock is, or will be."""
        return self.folder / FILENAME

    @property
    def current(self) -> EnvironmentLock:
        """The lock, or an empty one."""
        return self.lock or EnvironmentLock()


def find_place(here: Path) -> LockPlace:
    """The nearest folder, from `here` upwards, that has a prime.lock or lists environments.

    Else the nearest with a pyproject.toml, else `here`. Raises UsageError for a lock that cannot
    be read, BadProject for such a pyproject.toml or list.
    """
    for folder in _upwards(here):
        wanted = _wanted(folder / PYPROJECT)
        if wanted is not None or (folder / FILENAME).is_file():
            return LockPlace(folder, _lock_in(folder), wanted)
    projects = (folder for folder in _upwards(here) if (folder / PYPROJECT).is_file())
    return LockPlace(next(projects, here))


def find_lock(here: Path) -> EnvironmentLock | None:
    """The nearest prime.lock from `here` upwards; raises UsageError when it cannot be read."""
    found = (_lock_in(folder) for folder in _upwards(here) if (folder / FILENAME).is_file())
    return next(found, None)


def _lock_in(folder: Path) -> EnvironmentLock | None:
    file = folder / FILENAME
    return read_lock(file) if file.is_file() else None


def _upwards(here: Path) -> Iterator[Path]:
    """`here` and the folders above it, up to one where anybody may put a file, such as /tmp."""
    yield here
    for folder in here.parents:
        if _is_everybodys(folder):
            return
        yield folder


def _is_everybodys(folder: Path) -> bool:
    try:
        return os.name == "posix" and bool(folder.stat().st_mode & stat.S_IWOTH)
    except OSError:
        return True


def _wanted(file: Path) -> tuple[EnvRef, ...] | None:
    if not file.is_file():
        return None
    tools = get_table(read_pyproject(file), "tool", file)
    table = get_table(tools, "prime", file)
    if WANTED not in table:
        return None
    refs = [EnvRef.parse(text) for text in get_texts(table, WANTED, file)]
    for at, ref in enumerate(refs):
        if any(ref.is_same(other) for other in refs[:at]):
            raise BadProject(f"`{WANTED}` of [tool.prime] in {file} names `{ref.slug}` twice")
    return tuple(refs)
