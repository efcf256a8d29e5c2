"""Refreshing pods from their providers, and terminating them."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any

from sqlalchemy import Connection, Row, update

from prime_cli.core.errors import PrimeError
from prime_cli.hub.compute.provider import PodProvider, PodStatus, place_of
from prime_cli.hub.context import Caller, Hub, timestamp
from prime_cli.hub.db.tables import pods
from prime_cli.hub.services.access import require_user
from prime_cli.hub.services.audit import record
from prime_cli.hub.services.compute.access import SYSTEM_CALLER, find_endable, is_live, select_pods
from prime_cli.hub.services.compute.providers import (
    ask,
    claim,
    find_provider,
    is_here,
    provider_named,
)
from prime_cli.wire.codec import encode
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
)

# --- Termination ---


def terminate(hub: Hub, caller: Caller, pod_id: str) -> Ended:
    """Terminate a pod; returns TERMINATED if it already is.

    Returns DELETING if the provider needs a while, or another server has to end it. Raises
    NotFound, NotAllowed, and what the provider raises: the pod then stays DELETING and is
    terminated as soon as possible.
    """
    require_user(caller)
    with hub.database.read() as connection:
        row = find_endable(connection, caller, pod_id)
    if row.terminated_at is not None:
        return Ended(TERMINATED)
    if not is_here(hub, row):
        # The server that has it ends it when it next refreshes its pods.
        with hub.database.write() as connection:
            _mark_deleting(hub, connection, caller, row, why="asked for")
        return Ended(DELETING)
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
        _mark_deleting(hub, connection, caller, row, why=why)
    failure = ask(provider, lambda each: each.end(row.tag))
    left = ask(provider, lambda each: each.inspect([row.tag]).get(row.tag))
    if left is None:
        close(hub, row, TERMINATED, ended_at=hub.now(), failure=failed)
        return TERMINATED
    if failure is None or (isinstance(left, PodStatus) and left.status == DELETING):
        return DELETING
    with hub.database.write() as connection:
        noted = update(pods).where(pods.c.id == row.id, is_live())
        connection.execute(noted.values(failure=_storable(failure.message)))
    raise failure


def _mark_deleting(
    hub: Hub, connection: Connection, caller: Caller, row: Row[Any], *, why: str
) -> None:
    wished = update(pods).where(pods.c.id == row.id, is_live(), pods.c.status != DELETING)
    values = {"status": DELETING, "failure": None, "updated_at": hub.now()}
    if connection.execute(wished.values(values)).rowcount:
        record(hub, connection, caller, "pod.terminate", row.id, owner=row.owner, why=why)


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
        values["failure"] = _storable(failure)
    with hub.database.write() as connection:
        connection.execute(update(pods).where(pods.c.id == row.id, is_live()).values(values))


def _storable(failure: str | None) -> str | None:
    """A reason as every database takes it: a provider may pass on anything from anywhere."""
    if failure is None:
        return None
    return failure.replace("\0", "").encode(errors="backslashreplace").decode()[:_LONGEST_FAILURE]


# --- Status ---

_LONGEST_FAILURE = 4000
_BEGINS_WITHIN = timedelta(minutes=1)
_OVERDUE_SECONDS = 300.0
"""A pod of another server that is this late was left by a server that is gone."""
_ON_ITS_WAY = (PROVISIONING, PENDING)
_STATUSES = (*_ON_ITS_WAY, ACTIVE, STOPPED, ERROR, DELETING)


def refresh(hub: Hub, rows: Sequence[Row[Any]]) -> None:
    """Update the rows of live pods, restart those that are down but resumable, and terminate those
    that are past their deadline or already being deleted.

    Pods of a provider that does not answer stay as they are; the failure is logged. So do those of
    another server, until some time after their deadline, which their provider enforces too.
    """
    overdue = hub.after(-_OVERDUE_SECONDS)
    for provider, row, seen in read_states(hub, rows):
        is_over = row.stop_at <= hub.now()
        if seen is None:
            if is_here(hub, row):
                _note_absence(hub, provider, row)
        elif is_over:
            # Also if it is being deleted: it may be stuck, and it costs money.
            _end(hub, provider, row, why="past its deadline")
        elif row.status != DELETING:
            state = _resume(provider, row.tag, seen) if seen.is_resumable else seen
            _note(hub, row, state, holder=row.holder or place_of(provider))
        elif seen.status != DELETING:
            _end(hub, provider, row, why="asked for")
    for row in rows:
        if row.stop_at <= overdue and not is_here(hub, row):
            close(hub, row, TERMINATED, ended_at=row.stop_at)


def read_states(
    hub: Hub, rows: Sequence[Row[Any]]
) -> list[tuple[PodProvider, Row[Any], PodStatus | None]]:
    """Pods whose providers answer, each with its state there."""
    found: list[tuple[PodProvider, Row[Any], PodStatus | None]] = []
    for name in dict.fromkeys(row.provider for row in rows):
        theirs = [row for row in rows if row.provider == name]
        if (provider := find_provider(hub, name)) is None:
            continue
        states = ask(provider, partial(_inspect, [row.tag for row in theirs]))
        if not isinstance(states, PrimeError):
            found += [(provider, row, states.get(row.tag)) for row in theirs]
    return found


def _inspect(tags: Sequence[str], provider: PodProvider) -> Mapping[str, PodStatus]:
    return provider.inspect(tags)


def _resume(provider: PodProvider, tag: str, seen: PodStatus) -> PodStatus:
    """The state of a pod after a restart; a failed restart is retried at the next refresh."""
    failure = ask(provider, lambda each: each.resume(tag))
    if isinstance(failure, PrimeError):
        return replace(seen, status=ERROR, failure=failure.message)
    return seen


def _end(hub: Hub, provider: PodProvider, row: Row[Any], *, why: str) -> None:
    # The pod shows why it failed, and the next refresh tries again.
    with suppress(PrimeError):
        end_pod(hub, SYSTEM_CALLER, provider, row, why=why)


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


def _note(hub: Hub, row: Row[Any], seen: PodStatus, *, holder: str | None) -> None:
    values = {
        "holder": holder,
        "status": seen.status if seen.status in _STATUSES else UNKNOWN,
        "progress": seen.progress,
        "failure": _storable(seen.failure),
        "addresses": encode(seen.addresses).decode(),
        "host_keys": encode(seen.host_keys).decode(),
        "started_again": timestamp(seen.started_again) if seen.started_again else None,
    }
    if all(getattr(row, name) == value for name, value in values.items()):
        return
    # Only if nothing else has updated the row in between.
    same = (pods.c.id == row.id, is_live(), pods.c.status == row.status)
    with hub.database.write() as connection:
        connection.execute(update(pods).where(*same).values(**values, updated_at=hub.now()))


# --- In the background ---

_LOOKED = "pods looked after"


def refresh_all(hub: Hub, seconds: float) -> bool:
    """Refresh all live pods, and end those past their deadline.

    False if another process that reaches the same did so within half of `seconds`, and nothing was
    done.
    """
    if not claim(hub, _LOOKED, seconds / 2):
        return False
    with hub.database.read() as connection:
        rows = connection.execute(select_pods().where(is_live())).all()
    refresh(hub, rows)
    return True
