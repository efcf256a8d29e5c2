"""Bring a prime.lock up to what is wanted, and write it."""

from dataclasses import dataclass
from pathlib import Path

from prime_cli.core.errors import GateFailed, NotFound
from prime_cli.core.progress import Progress
from prime_cli.envs.locking.changes import LockChange, changes_between, stale_reasons
from prime_cli.envs.locking.file import FILENAME, EnvironmentLock, write_lock
from prime_cli.envs.locking.place import LockPlace
from prime_cli.envs.locking.resolve import resolve_lock
from prime_cli.envs.locking.wants import LockOrder
from prime_cli.envs.owned import OpenHub


@dataclass(frozen=True)
class LockUpdate:
    """What became of a prime.lock; without `changes` it was as it should be."""

    file: Path
    lock: EnvironmentLock
    changes: tuple[LockChange, ...]


def update_lock(
    place: LockPlace,
    order: LockOrder,
    hub: OpenHub,
    progress: Progress,
    *,
    offline: bool = False,
    dry_run: bool = False,
) -> LockUpdate:
    """Make the lock that `order` asks for, and write it where it is another one than before.

    A `dry_run` writes nothing. Raises what `resolve_lock` and `write_lock` raise.
    """
    with progress.task("Locking"):
        made = resolve_lock(place, order, hub, progress, offline=offline)
    if not dry_run and made != place.lock:
        write_lock(place.file, made)
    return LockUpdate(place.file, made, changes_between(place.current, made))


def follow_lock(
    place: LockPlace,
    hub: OpenHub,
    progress: Progress,
    *,
    offline: bool = False,
    locked: bool = False,
    frozen: bool = False,
) -> EnvironmentLock:
    """The lock that the workspace is to have, brought up to what pyproject.toml wants.

    `locked` raises GateFailed instead of changing it, and `frozen` takes it as it is. Raises
    NotFound where there is none and nothing says what it would hold.
    """
    require_lock(place, frozen=frozen)
    if frozen:
        return place.current
    if locked:
        require_wanted(place)
    if not stale_reasons(place):
        return place.current
    done = update_lock(place, LockOrder(), hub, progress, offline=offline)
    for change in done.changes:
        progress.say(f"Locked {change.environment} {change.after or 'no more'}")
    return done.lock


def require_lock(place: LockPlace, *, frozen: bool = False) -> None:
    """Raise NotFound without a lock, unless pyproject.toml says what is wanted and may be asked."""
    if place.lock is None and (frozen or place.wanted is None):
        raise NotFound(
            f"There is no {FILENAME} in {place.folder}",
            hint="write one with `prime env lock`, or `prime env lock OWNER/NAME`",
        )


def require_wanted(place: LockPlace) -> None:
    """Raise GateFailed, with the reasons, where the lock is not what pyproject.toml wants."""
    reasons = stale_reasons(place)
    if reasons:
        raise GateFailed(
            f"{FILENAME} is not what is wanted",
            hint="run `prime env lock`",
            detail="\n".join(reasons),
        )
