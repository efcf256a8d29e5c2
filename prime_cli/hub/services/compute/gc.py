"""Garbage collection: orphaned and expired pods and disks, found and terminated."""

from collections.abc import Callable, Collection, Iterable
from datetime import datetime
from functools import partial
from typing import Any

import msgspec
from msgspec import Struct
from sqlalchemy import ColumnElement, Row, Table, select, true

from prime_cli.core.errors import NotAllowed, PrimeError
from prime_cli.hub.compute.provider import PodProvider, PodStatus
from prime_cli.hub.context import Caller, Hub
from prime_cli.hub.db.tables import counters, disks, owners, pods
from prime_cli.hub.services.access import require_user
from prime_cli.hub.services.audit import note
from prime_cli.hub.services.compute.access import SYSTEM_CALLER, is_live, is_of, select_pods
from prime_cli.hub.services.compute.providers import ask, claim, name_at_places, tag_prefix
from prime_cli.hub.services.compute.reconcile import end_pod
from prime_cli.wire.pods import (
    DELETING,
    ERROR,
    Leak,
    Swept,
)

MACHINE = "machine without a pod"
LATE = "pod past its deadline"
FAILED = "failed pod whose machine is still there"
UNENDED = "pod that was to end"
DISK = "disk that nobody has"
SILENT = "provider that does not answer"


class _Garbage(Struct, frozen=True):
    """An item to report, and how to end it; None if it cannot be ended."""

    leak: Leak
    end: Callable[[], object] | None


def collect_garbage(hub: Hub, caller: Caller, *, dry_run: bool) -> Swept:
    """End, or with `dry_run` list, the caller's garbage; for an admin everybody's.

    A failed pod may hold somebody's work, so until its deadline only its user can collect it.
    Failures, and providers that do not answer, are reported with the reason. Raises NotLoggedIn,
    NotAllowed.
    """
    require_user(caller)
    if not (dry_run or caller.admin or caller.slug in caller.writes):
        raise NotAllowed("This key may not terminate pods", hint="use a key with the scope `write`")
    everything = [
        found for provider in hub.settings.providers for found in _find(hub, caller, provider)
    ]
    leaks = [found.leak if dry_run else _end(found) for found in everything]
    ended = [leak.id for leak in leaks if leak.ended]
    if ended:
        with hub.database.write() as connection:
            note(hub, connection, caller, "pod.sweep", "pods", ended=ended)
    return Swept(leaks)


def _end(found: _Garbage) -> Leak:
    if found.end is None:
        return found.leak
    try:
        found.end()
    except PrimeError as error:
        return msgspec.structs.replace(found.leak, failure=error.message)
    return msgspec.structs.replace(found.leak, ended=True)


def _find(hub: Hub, caller: Caller, provider: PodProvider) -> list[_Garbage]:
    """The garbage of one provider, queried before the rows are read, so that those are newer."""
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
) -> list[_Garbage]:
    query = select_pods().where(pods.c.provider == provider.name, is_live())
    with hub.database.read() as connection:
        mine = connection.execute(query.where(_may_collect(pods, caller))).all()
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
            _Garbage(_leak(kind, provider, row), _ending(hub, caller, provider, row, found))
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
) -> Iterable[_Garbage]:
    """Tags without a live row; an ended row, if any, says whose they were."""
    query = select(table, owners.c.slug.label("owner")).join(owners, owners.c.id == table.c.user_id)
    with hub.database.read() as connection:
        mine = query.where(table.c.tag.in_(tags), _may_collect(table, caller))
        rows = {row.tag: row for row in connection.execute(mine)}
    for tag in tags:
        if row := rows.get(tag):
            yield _Garbage(_leak(kind, provider, row), partial(end, tag))
        elif caller.admin:
            yield _Garbage(Leak(kind, tag, provider=provider.name), partial(end, tag))


def _may_collect(table: Table, caller: Caller) -> ColumnElement[bool]:
    return true() if caller.admin else is_of(table, caller, caller.writes or caller.reads)


def _leak(kind: str, provider: PodProvider, row: Row[Any]) -> Leak:
    return Leak(kind, row.id, name=row.name, provider=provider.name, owner=row.owner)


def _silent(provider: PodProvider, error: PrimeError) -> _Garbage:
    return _Garbage(
        Leak(SILENT, provider.name, provider=provider.name, failure=error.message), None
    )


# --- In the background ---

_COLLECTED = "pods swept"


def was_collected(hub: Hub, since: datetime) -> bool:
    """Whether a process has begun a collection after this moment, or in the same second."""
    name = name_at_places(hub, _COLLECTED)
    with hub.database.read() as connection:
        begun = connection.execute(select(counters.c.value).where(counters.c.name == name))
        return (begun.scalar() or 0) >= int(since.timestamp())


def collect_all_garbage(hub: Hub, seconds: float) -> Swept | None:
    """End all garbage; None if another process has just done so."""
    if not claim(hub, _COLLECTED, seconds / 2):
        return None
    return collect_garbage(hub, SYSTEM_CALLER, dry_run=False)
