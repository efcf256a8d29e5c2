"""Ending pods: what is wished is written first, so that it is done even if this process dies."""

from typing import Any

from sqlalchemy import Row, update

from prime_cli.hub.compute.provider import Provider, Seen
from prime_cli.hub.context import Caller, Hub
from prime_cli.hub.db.tables import pods
from prime_cli.hub.services.access import require_user
from prime_cli.hub.services.audit import record
from prime_cli.hub.services.compute.access import find_endable, is_live
from prime_cli.hub.services.compute.describing import failure_column
from prime_cli.hub.services.compute.providers import ask, provider_named
from prime_cli.wire.pods import DELETING, ERROR, TERMINATED, Ended


def terminate(hub: Hub, caller: Caller, pod_id: str) -> Ended:
    """End a pod; of one that has ended, that it has.

    DELETING is answered where that takes the provider a while. Raises NotFound, NotAllowed, and
    what the provider raises: the pod stays DELETING then, and is ended when that can be done.
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
    provider: Provider,
    row: Row[Any],
    *,
    why: str,
    failed: str | None = None,
) -> str:
    """Let nothing be left of a pod: TERMINATED, or DELETING where that takes the provider a while.

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
    left = ask(provider, lambda each: each.look([row.tag]).get(row.tag))
    if left is None:
        close(hub, row, TERMINATED, ended_at=hub.now(), failure=failed)
        return TERMINATED
    if failure is None or (isinstance(left, Seen) and left.status == DELETING):
        return DELETING
    with hub.database.write() as connection:
        noted = update(pods).where(pods.c.id == row.id, is_live())
        connection.execute(noted.values(failure=failure_column(failure.message)))
    raise failure


def close(
    hub: Hub, row: Row[Any], status: str, *, ended_at: str, failure: str | None = None
) -> None:
    """Note that a pod is there no more: from now on it is history."""
    values: dict[str, Any] = {
        "status": status,
        # No clock that was set back lets a pod have cost less than nothing.
        "terminated_at": max(ended_at, row.created_at),
        "updated_at": hub.now(),
        "addresses": "[]",
        "progress": None,
    }
    if failure is not None or status != ERROR:
        values["failure"] = failure_column(failure)
    with hub.database.write() as connection:
        connection.execute(update(pods).where(pods.c.id == row.id, is_live()).values(values))
