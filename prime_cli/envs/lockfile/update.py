"""Update a prime.lock to what is wanted, and tell what changed."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from prime_cli.core.errors import GateFailed, NotFound
from prime_cli.core.progress import Progress
from prime_cli.envs.install.dependencies import OpenHub
from prime_cli.envs.lockfile.file import (
    FILENAME,
    EnvironmentLock,
    LockedEnvironment,
    LockLocation,
    write_lock,
)
from prime_cli.envs.lockfile.resolve import LockOptions, find_same, resolve_lock, satisfies


@dataclass(frozen=True)
class LockChange:
    """What a new lock changes of one environment; versions, None where it is not in the lock.

    `rehashed` is True where the version is the same and its bytes are others.
    """

    environment: str
    before: str | None
    after: str | None
    rehashed: bool = False


def changes_between(before: EnvironmentLock, after: EnvironmentLock) -> tuple[LockChange, ...]:
    """What is different, by the name of the environment."""
    old = {entry.env_ref.slug: entry for entry in before.environments}
    new = {entry.env_ref.slug: entry for entry in after.environments}
    found = (_change(slug, old.get(slug), new.get(slug)) for slug in sorted({*old, *new}))
    return tuple(change for change in found if change is not None)


def stale_reasons(place: LockLocation) -> tuple[str, ...]:
    """Why prime.lock is not what pyproject.toml wants, a sentence each; none where it is."""
    if place.lock is None:
        return (f"There is no {FILENAME} in {place.folder}",)
    return tuple(_stale_reasons(place, place.lock))


def _stale_reasons(place: LockLocation, lock: EnvironmentLock) -> Iterator[str]:
    if place.wanted is None:
        return
    for ref in place.wanted:
        entry = lock.find(ref)
        if entry is None or entry.asked is None:
            yield f"{ref} is listed but not locked"
        elif not satisfies(ref, entry):
            yield f"{ref} is listed, but {entry.ref} is locked"
    for entry in lock.environments:
        if entry.asked is not None and find_same(entry.env_ref, place.wanted) is None:
            yield f"{entry.ref} is locked but not listed"


def _change(
    slug: str, old: LockedEnvironment | None, new: LockedEnvironment | None
) -> LockChange | None:
    before = old.env_ref.version if old else None
    after = new.env_ref.version if new else None
    rehashed = bool(old and new and before == after and old.sha256 != new.sha256)
    return LockChange(slug, before, after, rehashed) if rehashed or before != after else None


@dataclass(frozen=True)
class LockUpdate:
    """What became of a prime.lock; without `changes` it was as it should be."""

    file: Path
    lock: EnvironmentLock
    changes: tuple[LockChange, ...]


def update_lock(
    place: LockLocation,
    options: LockOptions,
    hub: OpenHub,
    progress: Progress,
    *,
    offline: bool = False,
    dry_run: bool = False,
) -> LockUpdate:
    """Make the lock that `options` asks for, and write it where it is another one than before.

    A `dry_run` writes nothing. Raises what `resolve_lock` and `write_lock` raise.
    """
    with progress.task("Locking"):
        made = resolve_lock(place, options, hub, progress, offline=offline)
    if not dry_run and made != place.lock:
        write_lock(place.file, made)
    return LockUpdate(place.file, made, changes_between(place.current, made))


def ensure_lock(
    place: LockLocation,
    hub: OpenHub,
    progress: Progress,
    *,
    offline: bool = False,
    locked: bool = False,
    frozen: bool = False,
) -> EnvironmentLock:
    """The lock of the workspace, updated to what pyproject.toml requires.

    `locked` raises GateFailed instead of changing it, and `frozen` uses it unchanged. Raises
    NotFound if there is none and nothing names its contents.
    """
    require_lock(place, frozen=frozen)
    if frozen:
        return place.current
    if locked:
        require_up_to_date(place)
    if not stale_reasons(place):
        return place.current
    done = update_lock(place, LockOptions(), hub, progress, offline=offline)
    for change in done.changes:
        progress.say(f"Locked {change.environment} {change.after or 'no more'}")
    return done.lock


def require_lock(place: LockLocation, *, frozen: bool = False) -> None:
    """Raise NotFound without a lock, unless pyproject.toml says what is wanted and may be asked."""
    if place.lock is None and (frozen or place.wanted is None):
        raise NotFound(
            f"There is no {FILENAME} in {place.folder}",
            hint="create one with `prime env lock`, or `prime env lock OWNER/NAME`",
        )


def require_up_to_date(place: LockLocation) -> None:
    """Raise GateFailed, with the reasons, where the lock is not what pyproject.toml wants."""
    reasons = stale_reasons(place)
    if reasons:
        raise GateFailed(
            f"{FILENAME} does not match pyproject.toml",
            hint="run `prime env lock`",
            detail="\n".join(reasons),
        )
