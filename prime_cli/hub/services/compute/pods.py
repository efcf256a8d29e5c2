"""Pods as their users see them."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import ColumnElement, Row, func, select

from prime_cli.hub.context import Caller, Hub
from prime_cli.hub.db.tables import pods
from prime_cli.hub.services.access import require_user
from prime_cli.hub.services.compute.access import (
    endable_by,
    find_endable,
    find_pod,
    is_live,
    select_pods,
    visible_to,
)
from prime_cli.hub.services.compute.pod_views import (
    describe_endable,
    describe_past,
    describe_pod,
    describe_state,
    find_attached,
)
from prime_cli.hub.services.compute.providers import provider_named, require_here
from prime_cli.hub.services.compute.reconcile import refresh
from prime_cli.wire.pods import (
    Endable,
    PastPage,
    PastPodQuery,
    PastSortKey,
    Pod,
    PodLog,
    PodPage,
    PodStates,
)
from prime_cli.wire.queries import PageQuery, SortOrder

_PAST_ORDERS: dict[PastSortKey, ColumnElement[Any]] = {
    PastSortKey.TERMINATED_AT: pods.c.terminated_at,
    PastSortKey.CREATED_AT: pods.c.created_at,
}


def list_pods(hub: Hub, caller: Caller, query: PageQuery) -> PodPage:
    """One page of the existing pods, newest first, after refreshing them all."""
    require_user(caller)
    wanted = (visible_to(caller), is_live())
    _look_at(hub, *wanted)
    with hub.database.read() as connection:
        total = connection.execute(select(func.count()).select_from(pods).where(*wanted))
        newest = (pods.c.created_at.desc(), pods.c.id)
        page = (
            select_pods().where(*wanted).order_by(*newest).offset(query.offset).limit(query.limit)
        )
        rows = connection.execute(page).all()
        attached = find_attached(connection, rows)
        count = total.scalar_one()
    return PodPage(
        [describe_pod(hub, row, attached) for row in rows], count, query.offset, query.limit
    )


def get_pod(hub: Hub, caller: Caller, pod_id: str) -> Pod:
    """One pod, even an ended one; raises NotFound."""
    require_user(caller)
    _look_at(hub, visible_to(caller), is_live(), pods.c.id == pod_id)
    with hub.database.read() as connection:
        row = find_pod(connection, caller, pod_id)
        return describe_pod(hub, row, find_attached(connection, [row]))


def get_endable(hub: Hub, caller: Caller, pod_id: str) -> Endable:
    """One pod, as needed for ending it; raises NotFound, NotAllowed."""
    require_user(caller)
    _look_at(hub, endable_by(caller), is_live(), pods.c.id == pod_id)
    with hub.database.read() as connection:
        return describe_endable(hub, find_endable(connection, caller, pod_id))


def list_states(hub: Hub, caller: Caller, pod_ids: Sequence[str]) -> PodStates:
    """The states of pods, in the order of `pod_ids`; those invisible to the caller are left out."""
    require_user(caller)
    wanted = (visible_to(caller), pods.c.id.in_(list(pod_ids)))
    _look_at(hub, *wanted, is_live())
    with hub.database.read() as connection:
        rows = {row.id: row for row in connection.execute(select_pods().where(*wanted))}
    found = (rows.get(pod_id) for pod_id in dict.fromkeys(pod_ids))
    return PodStates([describe_state(hub, row) for row in found if row is not None])


def list_past(hub: Hub, caller: Caller, query: PastPodQuery) -> PastPage:
    """One page of ended pods, by when they ended, or were created."""
    require_user(caller)
    _look_at(hub, visible_to(caller), is_live())
    wanted = (visible_to(caller), pods.c.terminated_at.is_not(None))
    column = _PAST_ORDERS[query.sort_by]
    key = column.desc() if query.sort_order is SortOrder.DESC else column.asc()
    ended = select_pods().where(*wanted).order_by(key, pods.c.id)
    page = ended.offset(query.offset).limit(query.limit)
    with hub.database.read() as connection:
        count = connection.execute(select(func.count()).select_from(pods).where(*wanted))
        total = count.scalar_one()
        rows = connection.execute(page).all()
    return PastPage([describe_past(row) for row in rows], total, query.offset, query.limit)


def read_log(hub: Hub, caller: Caller, pod_id: str, *, lines: int) -> PodLog:
    """The last lines of a pod's log.

    Raises NotFound, Unreachable for a pod of another server, and what the provider raises.
    """
    require_user(caller)
    with hub.database.read() as connection:
        row = find_pod(connection, caller, pod_id)
    require_here(hub, row)
    return PodLog(provider_named(hub, row.provider).log(row.tag, lines))


def _look_at(hub: Hub, *wanted: ColumnElement[bool]) -> Sequence[Row[Any]]:
    with hub.database.read() as connection:
        rows = connection.execute(select_pods().where(*wanted)).all()
    refresh(hub, rows)
    return rows
