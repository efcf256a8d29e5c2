"""Pods that a caller sees, existing or ended: read from their providers and shown."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import msgspec
from sqlalchemy import ColumnElement, Connection, Row, select

from prime_cli.hub.compute.provider import SshAddress
from prime_cli.hub.context import Caller, Hub
from prime_cli.hub.db.tables import disks, pod_disks, pods
from prime_cli.hub.services.access import require_user
from prime_cli.hub.services.compute.access import (
    endable_by,
    find_endable,
    find_pod,
    is_live,
    read_page,
    select_pods,
    visible_to,
)
from prime_cli.hub.services.compute.providers import find_provider, provider_named, require_here
from prime_cli.hub.services.compute.reconcile import refresh
from prime_cli.wire import pods as wire
from prime_cli.wire.codec import decode
from prime_cli.wire.offers import GpuOffer
from prime_cli.wire.pods import (
    STATE_FIELDS,
    Attached,
    Endable,
    PastPage,
    PastPod,
    PastPodQuery,
    PastSortKey,
    Pod,
    PodCreation,
    PodLog,
    PodPage,
    PodState,
    PodStates,
    PortMapping,
    Resources,
)
from prime_cli.wire.queries import PageQuery, SortOrder

# --- Rows as wire structs ---

_INSTALLATION = {
    wire.ERROR: wire.ERROR,
    wire.TERMINATED: wire.TERMINATED,
    wire.DELETING: wire.TERMINATED,
}
_DONE = 100
_SSH_PORT = "22"
_SECONDS_PER_HOUR = 3600.0


def describe_pod(hub: Hub, row: Row[Any], attached: Mapping[str, list[Attached]]) -> Pod:
    """A pod, as of its last refresh."""
    offer = decode(row.offer.encode(), GpuOffer)
    request = decode(row.request.encode(), PodCreation).pod
    state = msgspec.structs.asdict(describe_state(hub, row))
    return Pod(
        **(_describe(row, offer) | {name: state[name] for name in STATE_FIELDS}),
        user_id=row.user_id,
        team_id=row.team_id,
        updated_at=row.updated_at,
        socket=offer.socket,
        environment_type=_environment_type(request.image, offer),
        resources=Resources(
            memory=request.memory or offer.memory.default_count,
            disk=request.disk_size or offer.disk.default_count,
            vcpus=request.vcpus or offer.vcpu.default_count,
        ),
        attached_resources=attached.get(row.id, []),
        is_spot=offer.is_spot,
        stop_at=row.stop_at,
        nodes=row.nodes,
        host_keys=decode(row.host_keys.encode(), list[str]),
        started_again=row.started_again,
        ssh_config=_ssh_config(hub, row),
    )


def describe_state(hub: Hub, row: Row[Any]) -> PodState:
    """A pod's state, and its addresses."""
    status, failure = _status(hub, row)
    found = _addresses(row)
    return PodState(
        pod_id=row.id,
        provider_type=row.provider,
        status=status,
        ssh_connection=_one_or_all([str(each) for each in found]),
        ip=_one_or_all([each.host for each in found]),
        price_hr=row.price_hr,
        prime_port_mapping=[
            PortMapping(_SSH_PORT, str(each.port), "TCP", used_by="SSH", description="SSH")
            for each in found
        ],
        installation_status=_installation(status, row.progress),
        installation_failure=failure,
        installation_progress=row.progress,
    )


def describe_endable(hub: Hub, row: Row[Any]) -> Endable:
    """A pod for callers who may end it, but perhaps not see all of it."""
    about = _describe(row, decode(row.offer.encode(), GpuOffer))
    return Endable(**about, owner=row.owner, nodes=row.nodes, status=_status(hub, row)[0])


def describe_past(row: Row[Any]) -> PastPod:
    """A pod that ended, and its cost: the hours from its creation to its end, not rounded up, times
    its hourly price.
    """
    offer = decode(row.offer.encode(), GpuOffer)
    lived = datetime.fromisoformat(row.terminated_at) - datetime.fromisoformat(row.created_at)
    price = row.price_hr or 0.0
    return PastPod(
        **(_describe(row, offer) | {"price_hr": price}),
        provisioned_by=row.owner,
        socket=offer.socket,
        user_id=row.user_id,
        team_id=row.team_id,
        total_billed_price=round(lived.total_seconds() / _SECONDS_PER_HOUR * price, 4),
    )


def _describe(row: Row[Any], offer: GpuOffer) -> dict[str, Any]:
    """What every form of a pod has."""
    return {
        "id": row.id,
        "name": row.name,
        "provider_type": row.provider,
        "created_at": row.created_at,
        "terminated_at": row.terminated_at,
        "price_hr": row.price_hr,
        "gpu_name": offer.gpu_type,
        "gpu_count": offer.gpu_count,
    }


def find_attached(connection: Connection, rows: Sequence[Row[Any]]) -> dict[str, list[Attached]]:
    """The disks of existing pods, by the id of the pod."""
    live = [row.id for row in rows if row.terminated_at is None]
    if not live:
        return {}
    query = (
        select(pod_disks.c.pod_id, disks)
        .join(disks, disks.c.id == pod_disks.c.disk_id)
        .where(pod_disks.c.pod_id.in_(live))
        .order_by(disks.c.created_at, disks.c.id)
    )
    found: dict[str, list[Attached]] = {}
    for row in connection.execute(query):
        disk = Attached(row.id, type="DISK", size=row.size, created_at=row.created_at)
        found.setdefault(row.pod_id, []).append(disk)
    return found


def _status(hub: Hub, row: Row[Any]) -> tuple[str, str | None]:
    if row.terminated_at is not None:
        return row.status, row.failure
    if row.holder is None and find_provider(hub, row.provider) is None:
        return wire.UNKNOWN, f"The provider `{row.provider}` is not enabled on this hub"
    return row.status, row.failure


def _installation(status: str, progress: int | None) -> str:
    if status == wire.ACTIVE:
        return wire.FINISHED if progress in (None, _DONE) else wire.ACTIVE
    return _INSTALLATION.get(status, wire.PENDING)


def _addresses(row: Row[Any]) -> list[SshAddress]:
    return [] if row.terminated_at else decode(row.addresses.encode(), list[SshAddress])


def _ssh_config(hub: Hub, row: Row[Any]) -> str | None:
    """A local file, which means nothing to the users of a hub with accounts."""
    if hub.settings.accounts:
        return None
    return next((each.config for each in _addresses(row) if each.config), None)


def _one_or_all(texts: Sequence[str]) -> str | list[str | None] | None:
    if not texts:
        return None
    return texts[0] if len(texts) == 1 else list(texts)


def _environment_type(image: str | None, offer: GpuOffer) -> str | msgspec.UnsetType:
    """The image as `EnvironmentTypeEnum`: one that no offer lists is the user's own."""
    if not image:
        return msgspec.UNSET
    return image if image in offer.images else "custom_template"


# --- Queries ---

_PAST_ORDERS: dict[PastSortKey, ColumnElement[Any]] = {
    PastSortKey.TERMINATED_AT: pods.c.terminated_at,
    PastSortKey.CREATED_AT: pods.c.created_at,
}


def list_pods(hub: Hub, caller: Caller, query: PageQuery) -> PodPage:
    """One page of the existing pods, newest first, after refreshing them all."""
    require_user(caller)
    wanted = (visible_to(caller), is_live())
    _refresh(hub, *wanted)
    with hub.database.read() as connection:
        newest = (pods.c.created_at.desc(), pods.c.id)
        rows, total = read_page(connection, select_pods().where(*wanted), query, *newest)
        attached = find_attached(connection, rows)
    return PodPage(
        [describe_pod(hub, row, attached) for row in rows], total, query.offset, query.limit
    )


def get_pod(hub: Hub, caller: Caller, pod_id: str) -> Pod:
    """One pod, even an ended one; raises NotFound."""
    require_user(caller)
    _refresh(hub, visible_to(caller), is_live(), pods.c.id == pod_id)
    with hub.database.read() as connection:
        row = find_pod(connection, caller, pod_id)
        return describe_pod(hub, row, find_attached(connection, [row]))


def get_endable(hub: Hub, caller: Caller, pod_id: str) -> Endable:
    """One pod, as needed for ending it; raises NotFound, NotAllowed."""
    require_user(caller)
    _refresh(hub, endable_by(caller), is_live(), pods.c.id == pod_id)
    with hub.database.read() as connection:
        return describe_endable(hub, find_endable(connection, caller, pod_id))


def list_states(hub: Hub, caller: Caller, pod_ids: Sequence[str]) -> PodStates:
    """The states of pods, in the order of `pod_ids`; those invisible to the caller are left out."""
    require_user(caller)
    wanted = (visible_to(caller), pods.c.id.in_(list(pod_ids)))
    _refresh(hub, *wanted, is_live())
    with hub.database.read() as connection:
        rows = {row.id: row for row in connection.execute(select_pods().where(*wanted))}
    found = (rows.get(pod_id) for pod_id in dict.fromkeys(pod_ids))
    return PodStates([describe_state(hub, row) for row in found if row is not None])


def list_past(hub: Hub, caller: Caller, query: PastPodQuery) -> PastPage:
    """One page of ended pods, by when they ended, or were created."""
    require_user(caller)
    _refresh(hub, visible_to(caller), is_live())
    ended = select_pods().where(visible_to(caller), pods.c.terminated_at.is_not(None))
    column = _PAST_ORDERS[query.sort_by]
    key = column.desc() if query.sort_order is SortOrder.DESC else column.asc()
    with hub.database.read() as connection:
        rows, total = read_page(connection, ended, query, key, pods.c.id)
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


def _refresh(hub: Hub, *wanted: ColumnElement[bool]) -> None:
    with hub.database.read() as connection:
        rows = connection.execute(select_pods().where(*wanted)).all()
    refresh(hub, rows)
