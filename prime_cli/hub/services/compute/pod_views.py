"""Rows of pods as wire structs."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import msgspec
from sqlalchemy import Connection, Row, select

from prime_cli.hub.compute.provider import PodStatus, SshAddress
from prime_cli.hub.context import Hub
from prime_cli.hub.db.tables import disks, pod_disks
from prime_cli.hub.services.compute.providers import find_provider
from prime_cli.wire import pods as wire
from prime_cli.wire.codec import decode, encode
from prime_cli.wire.offers import GpuOffer
from prime_cli.wire.pods import (
    Attached,
    Endable,
    PastPod,
    Pod,
    PodCreation,
    PodState,
    PortMapping,
    Resources,
)

_INSTALLATION = {
    wire.ERROR: wire.ERROR,
    wire.TERMINATED: wire.TERMINATED,
    wire.DELETING: wire.TERMINATED,
}
_DONE = 100
_LONGEST_FAILURE = 4000
_SSH_PORT = "22"
_SECONDS_PER_HOUR = 3600.0


class _Address(msgspec.Struct):
    user: str
    host: str
    port: int
    config: str | None = None


def addresses_column(seen: PodStatus) -> str:
    """Addresses as stored in the table."""
    kept = [
        _Address(each.user, each.host, each.port, str(each.config) if each.config else None)
        for each in seen.addresses
    ]
    return encode(kept).decode()


def host_keys_column(seen: PodStatus) -> str:
    """Host keys as stored in the table."""
    return encode(list(seen.host_keys)).decode()


def failure_column(failure: str | None) -> str | None:
    """A reason as stored in the table: a provider may pass on anything from anywhere."""
    if failure is None:
        return None
    text = failure.replace("\0", "").encode(errors="backslashreplace").decode()
    return text[:_LONGEST_FAILURE]


def request_column(creation: PodCreation) -> str:
    """The request as stored in the table: only the names of variables."""
    named = [wire.PodVariable(variable.key, "") for variable in creation.pod.env_vars]
    pod = msgspec.structs.replace(creation.pod, env_vars=named)
    return encode(msgspec.structs.replace(creation, pod=pod)).decode()


def describe_pod(hub: Hub, row: Row[Any], attached: Mapping[str, list[Attached]]) -> Pod:
    """A pod, as of its last refresh."""
    offer = decode(row.offer.encode(), GpuOffer)
    request = decode(row.request.encode(), PodCreation).pod
    state = describe_state(hub, row)
    return Pod(
        id=row.id,
        gpu_name=offer.gpu_type,
        gpu_count=offer.gpu_count,
        status=state.status,
        name=row.name,
        user_id=row.user_id,
        team_id=row.team_id,
        provider_type=row.provider,
        installation_status=state.installation_status,
        installation_failure=state.installation_failure,
        installation_progress=state.installation_progress,
        created_at=row.created_at,
        updated_at=row.updated_at,
        terminated_at=row.terminated_at,
        socket=offer.socket,
        price_hr=row.price_hr,
        environment_type=_environment_type(request.image, offer),
        prime_port_mapping=state.prime_port_mapping,
        ssh_connection=state.ssh_connection,
        ip=state.ip,
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
    offer = decode(row.offer.encode(), GpuOffer)
    status, _failure = _status(hub, row)
    return Endable(
        id=row.id,
        owner=row.owner,
        gpu_name=offer.gpu_type,
        gpu_count=offer.gpu_count,
        nodes=row.nodes,
        name=row.name,
        provider_type=row.provider,
        status=status,
        created_at=row.created_at,
        terminated_at=row.terminated_at,
        price_hr=row.price_hr,
    )


def describe_past(row: Row[Any]) -> PastPod:
    """A pod that ended, and what it came to: the hours from its creation to its end, as they were
    and not rounded up, times its price of an hour.
    """
    offer = decode(row.offer.encode(), GpuOffer)
    lived = datetime.fromisoformat(row.terminated_at) - datetime.fromisoformat(row.created_at)
    hours = lived.total_seconds() / _SECONDS_PER_HOUR
    price = row.price_hr or 0.0
    return PastPod(
        id=row.id,
        name=row.name,
        provider_type=row.provider,
        provisioned_by=row.owner,
        created_at=row.created_at,
        terminated_at=row.terminated_at,
        gpu_name=offer.gpu_type,
        gpu_count=offer.gpu_count,
        socket=offer.socket,
        price_hr=price,
        user_id=row.user_id,
        team_id=row.team_id,
        total_billed_price=round(hours * price, 4),
    )


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
    if row.terminated_at is not None:
        return []
    kept = decode(row.addresses.encode(), list[_Address])
    return [SshAddress(each.user, each.host, each.port) for each in kept]


def _ssh_config(hub: Hub, row: Row[Any]) -> str | None:
    """A local file, which means nothing to the users of a hub with accounts."""
    if hub.settings.accounts or row.terminated_at is not None:
        return None
    kept = decode(row.addresses.encode(), list[_Address])
    return next((each.config for each in kept if each.config), None)


def _one_or_all(texts: Sequence[str]) -> str | list[str | None] | None:
    if not texts:
        return None
    return texts[0] if len(texts) == 1 else list(texts)


def _environment_type(image: str | None, offer: GpuOffer) -> str | msgspec.UnsetType:
    """The image as `EnvironmentTypeEnum`: one that no offer lists is the user's own."""
    if not image:
        return msgspec.UNSET
    return image if image in offer.images else "custom_template"
