"""`prime.lock`: where it is, what pyproject.toml wants in it, and its entries, read and written."""

import os
import stat
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec
import tomli_w
from packaging.utils import InvalidWheelFilename, parse_wheel_filename

from prime_cli.core.digests import is_sha256
from prime_cli.core.errors import BadProject, BadReference, UsageError
from prime_cli.core.paths import storage_errors, write_atomically
from prime_cli.core.refs import EnvRef, is_reference, normalize_name, split_extras
from prime_cli.envs.project.pyproject import FILENAME as PYPROJECT
from prime_cli.envs.project.pyproject import get_table, get_texts, read_pyproject

FILENAME = "prime.lock"
SCHEMA = 1

_HEAD = "# Written by `prime env lock`, and installed by `prime env sync`. Commit this file.\n"


class LockedEnvironment(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One environment, as it was when it was locked.

    `ref` is `owner/name@version`; `sha256` is that of the wheel's bytes and `content_hash` that of
    its sources, where the hub tells it. `asked` is what the user wrote, with its extras, and a
    version only if it is to stay at it; None where others need it, whose `owner/name` are
    `needed_by`.
    """

    ref: str
    wheel: str
    sha256: str
    content_hash: str | None = None
    asked: str | None = None
    needed_by: tuple[str, ...] = ()

    @property
    def env_ref(self) -> EnvRef:
        """`ref`, read."""
        return EnvRef.parse(self.ref)

    @property
    def extras(self) -> tuple[str, ...]:
        """Those that were asked for."""
        return EnvRef.parse(self.asked).extras if self.asked else ()

    @property
    def pinned(self) -> EnvRef:
        """`ref` with the extras, pinned to its sha256."""
        return replace(self.env_ref, sha256=self.sha256, extras=self.extras)

    @property
    def key(self) -> str:
        """The name as installers compare it: a workspace holds one package of a name."""
        return normalize_name(self.env_ref.name)


class EnvironmentLock(msgspec.Struct, frozen=True, rename={"environments": "environment"}):
    """The whole file; `environments` in order of `owner/name`."""

    schema: int = SCHEMA
    environments: tuple[LockedEnvironment, ...] = ()

    def find(self, ref: EnvRef) -> LockedEnvironment | None:
        """The entry of that owner and name, whatever the versions."""
        found = (entry for entry in self.environments if entry.env_ref.is_same(ref))
        return next(found, None)

    def find_name(self, name: str) -> LockedEnvironment | None:
        """The entry of that bare name."""
        key = normalize_name(name)
        return next((entry for entry in self.environments if entry.key == key), None)


def make_lock(entries: Iterable[LockedEnvironment]) -> EnvironmentLock:
    """A lock of `entries`, sorted, so that the same content is the same file."""
    return EnvironmentLock(environments=tuple(sorted(entries, key=lambda each: each.ref)))


def read_lock(file: Path) -> EnvironmentLock:
    """Read and check a prime.lock; raises UsageError that says what is wrong and where."""
    with storage_errors(file):
        content = file.read_bytes()
    try:
        table = tomllib.loads(content.decode("utf-8"))
        _check_schema(table, file)
        lock = msgspec.convert(table, EnvironmentLock)
        for entry in lock.environments:
            _check(entry)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, msgspec.ValidationError) as error:
        raise _broken(file, str(error)) from error
    except (BadReference, ValueError) as error:
        raise _broken(file, str(error)) from error
    twice = _repeated(lock.environments)
    if twice:
        raise _broken(file, f"it contains `{twice}` twice")
    return lock


def write_lock(file: Path, lock: EnvironmentLock) -> None:
    """Write `lock` for others to read, atomically; raises StorageFailed."""
    text = tomli_w.dumps(msgspec.to_builtins(lock))
    write_atomically(file, f"{_HEAD}{text}".encode(), mode=0o644)


def _check_schema(table: dict[str, Any], file: Path) -> None:
    schema = table.get("schema")
    if isinstance(schema, int) and schema > SCHEMA:
        raise UsageError(
            f"{file} has schema {schema}; this prime supports {SCHEMA}",
            hint="upgrade prime, or recreate the file with `prime env lock`",
        )


def _check(entry: LockedEnvironment) -> None:
    """Raises BadReference or ValueError."""
    if entry.env_ref.version is None:
        raise ValueError(f"`{entry.ref}` has no version")
    if entry.asked is not None:
        EnvRef.parse(entry.asked)
    if not is_sha256(entry.sha256):
        raise ValueError(f"the sha256 of `{entry.ref}` is not 64 hexadecimal digits")
    try:
        parse_wheel_filename(entry.wheel)
    except InvalidWheelFilename as error:
        raise ValueError(f"the wheel of `{entry.ref}` is invalid: {error}") from error
    if "/" in entry.wheel or "\\" in entry.wheel:
        raise ValueError(f"the wheel of `{entry.ref}` is a path")


def _repeated(entries: Iterable[LockedEnvironment]) -> str | None:
    seen: set[str] = set()
    for entry in entries:
        if entry.key in seen:
            return entry.key
        seen.add(entry.key)
    return None


def _broken(file: Path, reason: str) -> UsageError:
    return UsageError(
        f"{file} cannot be read: {reason}",
        hint="undo the change that broke it, or delete it and run `prime env lock`",
    )


ENVIRONMENTS_KEY = "environments"
"""The key of `[tool.prime]` that lists what is wanted."""


@dataclass(frozen=True)
class LockLocation:
    """A workspace's folder with its lock, None if there is none yet.

    `wanted` is the list in `[tool.prime] environments`; None without a list.
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


def find_lock_location(here: Path) -> LockLocation:
    """The nearest folder, from `here` upwards, that has a prime.lock or lists environments.

    Else the nearest with a pyproject.toml, else `here`. Raises UsageError for a lock that cannot
    be read, BadProject for such a pyproject.toml or list.
    """
    for folder in _parent_folders(here):
        wanted = _wanted(folder / PYPROJECT)
        if wanted is not None or (folder / FILENAME).is_file():
            return LockLocation(folder, _lock_in(folder), wanted)
    projects = (folder for folder in _parent_folders(here) if (folder / PYPROJECT).is_file())
    return LockLocation(next(projects, here))


def find_lock(here: Path) -> EnvironmentLock | None:
    """The nearest prime.lock from `here` upwards; raises UsageError when it cannot be read."""
    found = (_lock_in(folder) for folder in _parent_folders(here) if (folder / FILENAME).is_file())
    return next(found, None)


def _lock_in(folder: Path) -> EnvironmentLock | None:
    file = folder / FILENAME
    return read_lock(file) if file.is_file() else None


def _parent_folders(here: Path) -> Iterator[Path]:
    """`here` and the folders above it, up to one where anybody may put a file, such as /tmp."""
    yield here
    for folder in here.parents:
        if _is_world_writable(folder):
            return
        yield folder


def _is_world_writable(folder: Path) -> bool:
    try:
        return os.name == "posix" and bool(folder.stat().st_mode & stat.S_IWOTH)
    except OSError:
        return True


def _wanted(file: Path) -> tuple[EnvRef, ...] | None:
    if not file.is_file():
        return None
    tools = get_table(read_pyproject(file), "tool", file)
    table = get_table(tools, "prime", file)
    if ENVIRONMENTS_KEY not in table:
        return None
    refs = [EnvRef.parse(text) for text in get_texts(table, ENVIRONMENTS_KEY, file)]
    for at, ref in enumerate(refs):
        if any(ref.is_same(other) for other in refs[:at]):
            raise BadProject(
                f"`{ENVIRONMENTS_KEY}` of [tool.prime] in {file} contains `{ref.slug}` twice"
            )
    return tuple(refs)


def pinned_hash(ref: EnvRef | str, here: Path) -> str | None:
    """The sha256 that the workspace of `here` has locked for the wheel of `ref`.

    None without a prime.lock, for what is not in it, and for another version than it holds; a
    `ref` without a version means the locked one. Raises UsageError for a lock that cannot be read.
    """
    ref = EnvRef.parse(ref) if isinstance(ref, str) else ref
    lock = find_lock(here)
    entry = lock.find(ref) if lock else None
    if entry is None or ref.version not in (None, entry.env_ref.version):
        return None
    return entry.sha256


def locked_ref(text: str, here: Path) -> EnvRef | None:
    """The version, pinned to its sha256, that `name` or `owner/name` means in the workspace `here`.

    None where prime.lock does not have it, and for a text that says a version itself (`@latest`
    is one). Raises UsageError for a lock that cannot be read.
    """
    text, extras = split_extras(text)
    if "@" in text or "#" in text:
        return None
    lock = find_lock(here)
    if lock is None:
        return None
    if "/" not in text:
        entry = lock.find_name(text)
    else:
        entry = lock.find(EnvRef.parse(text)) if is_reference(text) else None
    return replace(entry.pinned, extras=extras or entry.extras) if entry else None
