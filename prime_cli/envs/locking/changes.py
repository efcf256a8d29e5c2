"""How a prime.lock differs from another one, and from what pyproject.toml wants."""

from collections.abc import Iterator
from dataclasses import dataclass

from prime_cli.envs.locking.file import FILENAME, EnvironmentLock, LockedEnvironment
from prime_cli.envs.locking.place import LockPlace
from prime_cli.envs.locking.resolve import is_locked_as
from prime_cli.envs.locking.wants import find_same


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


def stale_reasons(place: LockPlace) -> tuple[str, ...]:
    """Why prime.lock is not what pyproject.toml wants, a sentence each; none where it is."""
    if place.lock is None:
        return (f"There is no {FILENAME} in {place.folder}",)
    return tuple(_stale_reasons(place, place.lock))


def _stale_reasons(place: LockPlace, lock: EnvironmentLock) -> Iterator[str]:
    if place.wanted is None:
        return
    for ref in place.wanted:
        entry = lock.find(ref)
        if entry is None or entry.asked is None:
            yield f"{ref} is wanted and not locked"
        elif not is_locked_as(ref, entry):
            yield f"{ref} is wanted and {entry.ref} is locked"
    for entry in lock.environments:
        if entry.asked is not None and find_same(entry.env_ref, place.wanted) is None:
            yield f"{entry.ref} is locked and not wanted"


def _change(
    slug: str, old: LockedEnvironment | None, new: LockedEnvironment | None
) -> LockChange | None:
    before = old.env_ref.version if old else None
    after = new.env_ref.version if new else None
    rehashed = bool(old and new and before == after and old.sha256 != new.sha256)
    return LockChange(slug, before, after, rehashed) if rehashed or before != after else None
