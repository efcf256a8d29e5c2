"""`prime.lock`, read and written: references and digests, no addresses and no keys."""

import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec
import tomli_w
from packaging.utils import InvalidWheelFilename, parse_wheel_filename

from prime_cli.core.digests import is_sha256
from prime_cli.core.errors import BadReference, UsageError
from prime_cli.core.paths import storage_errors, write_atomically
from prime_cli.core.refs import EnvRef, normalize_name

FILENAME = "prime.lock"
SCHEMA = 1

_HEAD = "# Written by `prime env lock`, and installed by `prime env sync`. Commit this file.\n"


class LockedEnvironment(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One environment, as it was when it was locked.

    `ref` is `owner/name@version`; `sha256` is that of the wheel's bytes and `content_hash` that of
    its sources, where the hub tells it. `asked` is what the user wrote, with a version only if it
    is to stay at it; None where others need it, whose `owner/name` are `needed_by`.
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
        raise _broken(file, f"it names `{twice}` twice")
    return lock


def write_lock(file: Path, lock: EnvironmentLock) -> None:
    """Write `lock` for others to read, atomically; raises StorageFailed."""
    text = tomli_w.dumps(msgspec.to_builtins(lock))
    write_atomically(file, f"{_HEAD}{text}".encode(), mode=0o644)


def _check_schema(table: dict[str, Any], file: Path) -> None:
    schema = table.get("schema")
    if isinstance(schema, int) and schema > SCHEMA:
        raise UsageError(
            f"{file} has schema {schema}, and this prime knows {SCHEMA}",
            hint="upgrade prime, or write the file anew with `prime env lock`",
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
        raise ValueError(f"the wheel of `{entry.ref}` is none: {error}") from error
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
        hint="take back the change that broke it, or move it away and run `prime env lock`",
    )
