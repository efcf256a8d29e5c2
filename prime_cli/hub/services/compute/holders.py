"""Pods and disks that not every server of a hub reaches: who holds them, and errands for it.

A provider with a `place` (a container engine, a server's SkyPilot) writes it into what it creates.
A server that does not reach that place assumes nothing of what is there: it reads the tables, and
leaves errands to one that does, which looks for them every second and writes heartbeats. A place
without a heartbeat is lost; its pods are UNKNOWN until it is back, or their deadline. What has no
holder, being of an older hub or a backup, gets the one that finds it.
"""

import socket
import time
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any
from uuid import uuid4

from sqlalchemy import Connection, Row, Table, delete, insert, or_, select, update

from prime_cli.core.errors import EnvironmentFailed, PrimeError, Unreachable
from prime_cli.hub.compute.provider import PodProvider, place_of
from prime_cli.hub.context import Hub
from prime_cli.hub.db.tables import counters, errands, holders
from prime_cli.hub.services.compute.offers import ask, find_provider

LOST_SECONDS = 60.0
"""A place without a heartbeat for this long is lost. Clocks of servers must differ by less."""
_BEAT_SECONDS = 10.0
_ANSWER_SECONDS = 15.0
"""Less than clients wait for an answer."""
_KEPT_SECONDS = 3600.0
_PAUSE = 0.2


class Errand(StrEnum):
    """What a server asks of another."""

    END = "end pod"
    LOG = "read log"
    REMOVE = "remove disk"


def places(hub: Hub) -> dict[str, PodProvider]:
    """The providers that reach a place of their own, as far as they answer."""
    found: dict[str, PodProvider] = {}
    for provider in hub.settings.providers:
        place = ask(provider, place_of)
        if isinstance(place, str):
            found[place] = provider
    return found


def is_within_reach(provider: PodProvider | None, row: Row[Any]) -> bool:
    """Whether this server's provider can tell what became of a pod or disk."""
    if row.holder is None:
        return True
    return provider is not None and ask(provider, place_of) == row.holder


def adopt(hub: Hub, provider: PodProvider, table: Table, row: Row[Any]) -> None:
    """Write down who holds a pod or disk that has no holder, and that this provider has."""
    place = ask(provider, place_of) if row.holder is None else None
    if isinstance(place, str):
        unheld = table.c.id == row.id, table.c.holder.is_(None)
        with hub.database.write() as connection:
            connection.execute(update(table).where(*unheld).values(holder=place))


def may_be_elsewhere(hub: Hub, provider: PodProvider, row: Row[Any]) -> bool:
    """Whether another server may have a pod or disk that this provider does not have.

    One without a holder may be of any server that lives, or has not yet said so: servers start
    together after an upgrade, or a restore.
    """
    place = ask(provider, place_of)
    if row.holder is not None:
        return bool(place != row.holder)
    if place is None or not hub.settings.accounts:
        return False
    lately = hub.after(-LOST_SECONDS)
    if not isinstance(place, str) or hub.began > lately:
        return True
    others = holders.c.id.not_in(sorted(places(hub))), holders.c.seen_at >= lately
    with hub.database.read() as connection:
        return connection.execute(select(holders.c.id).where(*others)).first() is not None


def is_elsewhere(hub: Hub, row: Row[Any]) -> bool:
    """Whether only other servers reach a pod or disk."""
    return not is_within_reach(find_provider(hub, row.provider), row)


def why_lost(hub: Hub, row: Row[Any]) -> str | None:
    """Why nothing is known of a row of `select_pods`; None if it is, or its holder lives."""
    if row.holder is None or (row.seen_at or "") >= hub.after(-LOST_SECONDS):
        return None
    if not is_elsewhere(hub, row):
        return None
    if row.seen_at is None:
        return "The server that has it was never heard of"
    return f"Its server `{row.holder_name}` has not been heard of since {row.seen_at[:19]}Z"


# --- For others ---


def leave_errand(
    hub: Hub, connection: Connection, kind: Errand, row: Row[Any], *, lines: int | None = None
) -> str:
    """Ask whichever server reaches the holder of `row`; returns the errand's id."""
    old = errands.c.asked_at < hub.after(-_KEPT_SECONDS)
    connection.execute(delete(errands).where(old, errands.c.taken_at.is_not(None)))
    errand = str(uuid4())
    values = {"holder": row.holder, "kind": kind, "target": row.id, "lines": lines}
    connection.execute(insert(errands).values(id=errand, asked_at=hub.now(), **values))
    return errand


def read_log_elsewhere(hub: Hub, row: Row[Any], lines: int) -> str:
    """The log of a pod, from the server that reaches it.

    Raises Unreachable if none answers, EnvironmentFailed with the reason of a failure there.
    """
    lost = why_lost(hub, row)
    if lost is not None:
        raise Unreachable(lost, hint="ask the hub's operator to start that server again")
    with hub.database.write() as connection:
        errand = leave_errand(hub, connection, Errand.LOG, row, lines=lines)
    mine = errands.c.id == errand
    try:
        deadline = time.monotonic() + _ANSWER_SECONDS
        while time.monotonic() < deadline:
            time.sleep(_PAUSE)
            with hub.database.read() as connection:
                seen = connection.execute(select(errands).where(mine)).one()
            if seen.failure is not None:
                raise EnvironmentFailed(seen.failure)
            if seen.answer is not None:
                return str(seen.answer)
    finally:
        with hub.database.write() as connection:
            connection.execute(delete(errands).where(mine))
    raise Unreachable(
        f"The server `{row.holder_name}`, which has the pod, did not answer", hint="try again"
    )


# --- From others ---


def beat(hub: Hub) -> None:
    """Note that this server is alive and reaches its places, unless it was just noted."""
    fresh = hub.after(-_BEAT_SECONDS)
    for place in places(hub):
        query = select(holders.c.seen_at).where(holders.c.id == place)
        with hub.database.read() as connection:
            if (connection.execute(query).scalar() or "") > fresh:
                continue
        noted = {"name": socket.gethostname(), "seen_at": hub.now()}
        with hub.database.write() as connection:
            if not connection.execute(
                update(holders).where(holders.c.id == place).values(noted)
            ).rowcount:
                connection.execute(insert(holders).values(id=place, **noted))


def run_errands(
    hub: Hub, work: Mapping[Errand, Callable[[Hub, PodProvider, Row[Any]], str | None]]
) -> int:
    """Do what others have asked of this server, each errand once; returns how many there were.

    An answer is left for whoever asked; an errand without one is over.
    """
    reached = places(hub)
    waiting = errands.c.holder.in_(sorted(reached)), errands.c.taken_at.is_(None)
    with hub.database.read() as connection:
        rows = connection.execute(
            select(errands).where(*waiting).order_by(errands.c.asked_at)
        ).all()
    return sum(_run(hub, reached[row.holder], row, work[Errand(row.kind)]) for row in rows)


def _run(
    hub: Hub,
    provider: PodProvider,
    row: Row[Any],
    work: Callable[[Hub, PodProvider, Row[Any]], str | None],
) -> bool:
    mine = errands.c.id == row.id
    with hub.database.write() as connection:
        taken = update(errands).where(mine, errands.c.taken_at.is_(None))
        if not connection.execute(taken.values(taken_at=hub.now())).rowcount:
            return False
    result: str | None = None
    failure: str | None = None
    try:
        result = work(hub, provider, row)
    except PrimeError as error:
        failure = error.message
    with hub.database.write() as connection:
        if result is None and failure is None:
            connection.execute(delete(errands).where(mine))
        else:
            connection.execute(update(errands).where(mine).values(answer=result, failure=failure))
    return True


# --- Of several processes, one ---


def at_places(hub: Hub, name: str) -> str:
    """A name that servers share if they reach the same machines."""
    return " ".join([name, *sorted(places(hub))])


def claim(hub: Hub, name: str, seconds: float) -> bool:
    """Whether this process should do `name` now: no server that reaches the same has for `seconds`.

    If it dies, another follows once they have passed. A time in the future was written by a wrong
    clock.
    """
    name = at_places(hub, name)
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
