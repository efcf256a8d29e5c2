"""Refreshing pods from their providers, terminating them, and finding leaks."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any

import msgspec
from sqlalchemy import ColumnElement, Row, Table, insert, or_, select, true, update

from prime_cli.core.errors import NotAllowed, PrimeError
from prime_cli.hub.compute.provider import PodProvider, PodStatus
from prime_cli.hub.context import Caller, Hub, timestamp
from prime_cli.hub.db.tables import counters, disks, owners, pods
from prime_cli.hub.services.access import require_user
from prime_cli.hub.services.audit import note, record
from prime_cli.hub.services.compute.access import THE_HUB, find_endable, is_live, is_of, select_pods
from prime_cli.hub.services.compute.offers import ask, find_provider, provider_named, tag_prefix
from prime_cli.hub.services.compute.pod_views import (
    addresses_column,
    failure_column,
    host_keys_column,
)
from prime_cli.wire.pods import (
    ACTIVE,
    DELETING,
    ERROR,
    PENDING,
    PROVISIONING,
    STOPPED,
    TERMINATED,
    UNKNOWN,
    Ended,
    Leak,
    Swept,
)

# --- Termination ---


def terminate(hub: Hub, caller: Caller, pod_id: str) -> Ended:
    """Terminate a pod; returns TERMINATED if it already is.

    Returns DELETING if the provider needs a while. Raises NotFound, NotAllowed, and what the
    provider raises: the pod then stays DELETING and is terminated as soon as possible.
    """
    require_user(caller)
    with hub.database.read() as connection:
        row = find_endable(connection, caller, pod_id)
    if row.terminated_at is not None:
        return Ended(TERMINATED)
    provider = provider_named(hub, row.provider)
    return Ended(end_pod(hub, caller, provider, row, why="asked for"))


def end_pod(
    hub: Hub,
    caller: Caller,
    provider: PodProvider,
    row: Row[Any],
    *,
    why: str,
    failed: str | None = None,
) -> str:
    """Terminate a pod: returns TERMINATED, or DELETING if the provider needs a while.

    Of one that had `failed`, the reason stays in the history; None is what its row says. Raises
    what the provider raises, after it is written to the pod.
    """
    if failed is None and row.status == ERROR:
        failed = row.failure
    with hub.database.write() as connection:
        wished = update(pods).where(pods.c.id == row.id, is_live(), pods.c.status != DELETING)
        values = {"status": DELETING, "failure": None, "updated_at": hub.now()}
        if connection.execute(wished.values(values)).rowcount:
            record(hub, connection, caller, "pod.terminate", row.id, owner=row.owner, why=why)
    failure = ask(provider, lambda each: each.end(row.tag))
    left = ask(provider, lambda each: each.inspect([row.tag]).get(row.tag))
    if left is None:
        close(hub, row, TERMINATED, ended_at=hub.now(), failure=failed)
        return TERMINATED
    if failure is None or (isinstance(left, PodStatus) and left.status == DELETING):
        return DELETING
    with hub.database.write() as connection:
        noted = update(pods).where(pods.c.id == row.id, is_live())
        connection.execute(noted.values(failure=failure_column(failure.message)))
    raise failure


def close(
    hub: Hub, row: Row[Any], status: str, *, ended_at: str, failure: str | None = None
) -> None:
    """Mark a pod as gone, which moves it to the history."""
    values: dict[str, Any] = {
        "status": status,
        # If the clock was set back, the cost must not become negative.
        "terminated_at": max(ended_at, row.created_at),
        "updated_at": hub.now(),
        "addresses": "[]",
        "progress": None,
    }
    if failure is not None or status != ERROR:
        values["failure"] = failure_column(failure)
    with hub.database.write() as connection:
        connection.execute(update(pods).where(pods.c.id == row.id, is_live()).values(values))


# --- Status ---

_BEGINS_WITHIN = timedelta(minutes=1)
_ON_ITS_WAY = (PROVISIONING, PENDING)
_STATUSES = (*_ON_ITS_WAY, ACTIVE, STOPPED, ERROR, DELETING)


def refresh(hub: Hub, rows: Sequence[Row[Any]]) -> None:
    """Update the rows of live pods, restart those that are down but resumable, and terminate those
    that are past their deadline or already being deleted.

    Pods of a provider that does not answer stay as they are; the failure is logged.
    """
    for provider, row, seen in look(hub, rows):
        if seen is None:
            _note_absence(hub, provider, row)
        elif row.stop_at <= hub.now():
            # Also if it is being deleted: it may be stuck, and it costs money.
            _end(hub, provider, row, why="past its deadline")
        elif row.status != DELETING:
            _note(hub, row, _resume(provider, row.tag, seen) if seen.is_resumable else seen)
        elif seen.status != DELETING:
            _end(hub, provider, row, why="asked for")


def look(
    hub: Hub, rows: Sequence[Row[Any]]
) -> list[tuple[PodProvider, Row[Any], PodStatus | None]]:
    """The state of pods whose providers answer."""
    found: list[tuple[PodProvider, Row[Any], PodStatus | None]] = []
    by_provider: defaultdict[str, list[Row[Any]]] = defaultdict(list)
    for row in rows:
        by_provider[row.provider].append(row)
    for name, theirs in by_provider.items():
        provider = find_provider(hub, name)
        seen = None if provider is None else see(provider, [row.tag for row in theirs])
        if provider is not None and seen is not None:
            found += [(provider, row, seen.get(row.tag)) for row in theirs]
    return found


def see(provider: PodProvider, tags: Sequence[str]) -> Mapping[str, PodStatus] | None:
    """The state of `tags` at a provider; None if it does not answer."""
    answer = ask(provider, lambda provider: provider.inspect(tags))
    return None if isinstance(answer, PrimeError) else answer


def _resume(provider: PodProvider, tag: str, seen: PodStatus) -> PodStatus:
    """The state of a pod after a restart; a failed restart is retried at the next refresh."""
    failure = ask(provider, lambda each: each.resume(tag))
    if isinstance(failure, PrimeError):
        return replace(seen, status=ERROR, failure=failure.message)
    return seen


def _end(hub: Hub, provider: PodProvider, row: Row[Any], *, why: str) -> None:
    # The pod shows why it failed, and the next refresh tries again.
    with suppress(PrimeError):
        end_pod(hub, THE_HUB, provider, row, why=why)


def _note_absence(hub: Hub, provider: PodProvider, row: Row[Any]) -> None:
    now = hub.now()
    if row.status == ERROR:
        close(hub, row, ERROR, ended_at=now)
    elif row.stop_at <= now or row.status not in _ON_ITS_WAY:
        # Its provider enforces deadlines too, and it may not have been refreshed since creation.
        close(hub, row, TERMINATED, ended_at=min(now, row.stop_at))
    elif timestamp(hub.settings.clock() - _BEGINS_WITHIN) >= row.created_at:
        why = f"The provider `{row.provider}` does not have it: its creation was interrupted"
        close(hub, row, ERROR, ended_at=now, failure=why)
        # A partly created pod may exist all the same.
        ask(provider, lambda each: each.end(row.tag))


def _note(hub: Hub, row: Row[Any], seen: PodStatus) -> None:
    values = {
        "status": seen.status if seen.status in _STATUSES else UNKNOWN,
        "progress": seen.progress,
        "failure": failure_column(seen.failure),
        "addresses": addresses_column(seen),
        "host_keys": host_keys_column(seen),
        "started_again": timestamp(seen.started_again) if seen.started_again else None,
    }
    if all(getattr(row, name) == value for name, value in values.items()):
        return
    # Only if nothing else has updated the row in between.
    same = (pods.c.id == row.id, is_live(), pods.c.status == row.status)
    with hub.database.write() as connection:
        connection.execute(update(pods).where(*same).values(**values, updated_at=hub.now()))


# --- Leaks: orphaned and expired pods and disks, found and terminated ---

# --- Finding and ending leaks ---

MACHINE = "machine without a pod"
LATE = "pod past its deadline"
FAILED = "failed pod whose machine is still there"
UNENDED = "pod that was to end"
DISK = "disk that nobody has"
SILENT = "provider that does not answer"


@dataclass(frozen=True)
class _Found:
    """A leak, and how to end it."""

    leak: Leak
    end: Callable[[], object] | None


def sweep(hub: Hub, caller: Caller, *, dry_run: bool) -> Swept:
    """End, or with `dry_run` list, the caller's leftovers; for an admin everybody's.

    What is on a failed pod may be somebody's work, so until its deadline only its user sweeps it.
    What cannot be ended, and providers that do not answer, are reported with the reason. Raises
    NotLoggedIn, NotAllowed.
    """
    require_user(caller)
    if not (dry_run or caller.admin or caller.slug in caller.writes):
        raise NotAllowed("This key may not terminate pods", hint="use a key with the scope `write`")
    everything = [
        found for provider in hub.settings.providers for found in _find(hub, caller, provider)
    ]
    leaks = [found.leak if dry_run else _end_leak(found) for found in everything]
    ended = [leak.id for leak in leaks if leak.ended]
    if ended:
        with hub.database.write() as connection:
            note(hub, connection, caller, "pod.sweep", "pods", ended=ended)
    return Swept(leaks)


def _end_leak(found: _Found) -> Leak:
    if found.end is None:
        return found.leak
    try:
        found.end()
    except PrimeError as error:
        return msgspec.structs.replace(found.leak, failure=error.message)
    return msgspec.structs.replace(found.leak, ended=True)


def _find(hub: Hub, caller: Caller, provider: PodProvider) -> list[_Found]:
    """The leaks of one provider; query it before reading the rows, so that those are newer."""
    prefix = tag_prefix(hub)
    answer = ask(provider, lambda each: (each.list_tags(prefix), each.list_disk_tags(prefix)))
    if isinstance(answer, PrimeError):
        return [_silent(provider, answer)]
    tags, disk_tags = answer
    live = _live_tags(hub, disks)
    stray_disks = sorted(set(disk_tags) - live)
    return [
        *_find_machines(hub, caller, provider, prefix, tags),
        *_strays(hub, caller, provider, disks, DISK, stray_disks, provider.remove_disk),
    ]


def _find_machines(
    hub: Hub, caller: Caller, provider: PodProvider, prefix: str, tags: Collection[str]
) -> list[_Found]:
    query = select_pods().where(pods.c.provider == provider.name, is_live())
    with hub.database.read() as connection:
        mine = connection.execute(query.where(_may_sweep(pods, caller))).all()
        of_caller = is_of(pods, caller, caller.writes or caller.reads)
        own = {row.id for row in connection.execute(query.where(of_caller))}
    strays = set(tags) - _live_tags(hub, pods)
    wanted = [row.tag for row in mine]
    # What ended by itself in between is gone by now.
    answer = ask(provider, lambda each: (strays and each.list_tags(prefix), each.inspect(wanted)))
    if isinstance(answer, PrimeError):
        return [_silent(provider, answer)]
    still_there, seen = answer
    there = sorted(strays & set(still_there))
    return [
        *_strays(hub, caller, provider, pods, MACHINE, there, provider.end),
        *(
            _Found(_leak(kind, provider, row), _ending(hub, caller, provider, row, found))
            for row in mine
            if (found := seen.get(row.tag))
            and (kind := _kind(hub, row, found, is_own=row.id in own))
        ),
    ]


def _live_tags(hub: Hub, table: Table) -> set[str]:
    with hub.database.read() as connection:
        query = select(table.c.tag).where(table.c.terminated_at.is_(None))
        return set(connection.execute(query).scalars())


def _ending(
    hub: Hub, caller: Caller, provider: PodProvider, row: Row[Any], seen: PodStatus
) -> Callable[[], object]:
    failed = seen.failure if seen.status == ERROR else None
    return partial(end_pod, hub, caller, provider, row, why="swept", failed=failed)


def _kind(hub: Hub, row: Row[Any], seen: PodStatus, *, is_own: bool) -> str | None:
    if row.status == DELETING:
        return None if seen.status == DELETING else UNENDED
    if row.stop_at <= hub.now():
        return LATE
    return FAILED if seen.status == ERROR and is_own else None


def _strays(
    hub: Hub,
    caller: Caller,
    provider: PodProvider,
    table: Table,
    kind: str,
    tags: list[str],
    end: Callable[[str], object],
) -> Iterable[_Found]:
    """Tags without a live row; an ended row, if any, says whose they were."""
    query = select(table, owners.c.slug.label("owner")).join(owners, owners.c.id == table.c.user_id)
    with hub.database.read() as connection:
        mine = query.where(table.c.tag.in_(tags), _may_sweep(table, caller))
        rows = {row.tag: row for row in connection.execute(mine)}
    for tag in tags:
        if row := rows.get(tag):
            yield _Found(_leak(kind, provider, row), partial(end, tag))
        elif caller.admin:
            yield _Found(Leak(kind, tag, provider=provider.name), partial(end, tag))


def _may_sweep(table: Table, caller: Caller) -> ColumnElement[bool]:
    return true() if caller.admin else is_of(table, caller, caller.writes or caller.reads)


def _leak(kind: str, provider: PodProvider, row: Row[Any]) -> Leak:
    return Leak(kind, row.id, name=row.name, provider=provider.name, owner=row.owner)


def _silent(provider: PodProvider, error: PrimeError) -> _Found:
    return _Found(Leak(SILENT, provider.name, provider=provider.name, failure=error.message), None)


# --- In the background ---

_LOOKED = "pods looked after"
_SWEPT = "pods swept"


def refresh_all(hub: Hub, seconds: float) -> bool:
    """Refresh all live pods, and end those past their deadline.

    False if another process did so within half of `seconds`, and nothing was done.
    """
    if not _claim(hub, _LOOKED, seconds / 2):
        return False
    with hub.database.read() as connection:
        rows = connection.execute(select_pods().where(is_live())).all()
    refresh(hub, rows)
    return True


def is_swept(hub: Hub, since: datetime) -> bool:
    """Whether a process has begun a sweep after this moment, or in the same second."""
    with hub.database.read() as connection:
        begun = connection.execute(select(counters.c.value).where(counters.c.name == _SWEPT))
        return (begun.scalar() or 0) >= int(since.timestamp())


def sweep_all(hub: Hub, seconds: float) -> Swept | None:
    """End all leaks; None if another process has just done so."""
    if not _claim(hub, _SWEPT, seconds / 2):
        return None
    return sweep(hub, THE_HUB, dry_run=False)


def _claim(hub: Hub, name: str, seconds: float) -> bool:
    """Whether this process should do `name` now: nobody has for some `seconds`.

    If it dies, another follows once they have passed. A time in the future was written by a wrong
    clock.
    """
    now = int(hub.settings.clock().timestamp())
    due = or_(counters.c.value <= now - seconds, counters.c.value > now)
    taken = update(counters).where(counters.c.name == name, due).values(value=now)
    with hub.database.write() as connection:
        if connection.execute(taken).rowcount:
            return True
        known = connection.execute(select(counters.c.value).where(counters.c.name == name)).scalar()
        if known is None:
            connection.execute(insert(counters).values(name=name, value=now))
        return known is None
