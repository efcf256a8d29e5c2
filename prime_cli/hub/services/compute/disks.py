"""Persistent disks: recorded here before a provider creates them."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any
from uuid import uuid4

from sqlalchemy import Connection, func, insert, select, update

from prime_cli.core.errors import Conflict, NotAllowed, PrimeError, UsageError
from prime_cli.hub.compute.provider import Provider
from prime_cli.hub.context import Caller, Hub
from prime_cli.hub.db.tables import disks
from prime_cli.hub.services.access import require_user
from prime_cli.hub.services.audit import note, record
from prime_cli.hub.services.compute.disk_records import (
    attached_pods,
    choose_offer,
    find_changeable,
    find_disk,
    look_again,
    select_disks,
    shown,
)
from prime_cli.hub.services.compute.providers import provider_named, tag_of, tag_prefix
from prime_cli.hub.services.keys import require_alive
from prime_cli.hub.services.owners import check_label, find_own_team, owner_id
from prime_cli.wire.codec import encode
from prime_cli.wire.disks import (
    ACTIVE,
    DELETING,
    ERROR,
    PROVISIONING,
    TERMINATED,
    Disk,
    DiskCreation,
    DiskPage,
    price_of,
)
from prime_cli.wire.pods import Ended
from prime_cli.wire.queries import PageQuery

MOST_DISKS = 100
"""Disks of one user that are there, which also outlive the pods that a script made."""


def list_disks(hub: Hub, caller: Caller, query: PageQuery) -> DiskPage:
    """One page of the disks of the caller and of the caller's teams, the newest first."""
    require_user(caller)
    look_again(hub, caller)
    mine = select_disks(caller)
    with hub.database.read() as connection:
        total = connection.execute(select(func.count()).select_from(mine.subquery())).scalar_one()
        order = disks.c.created_at.desc(), disks.c.id
        rows = connection.execute(
            mine.order_by(*order).offset(query.offset).limit(query.limit)
        ).all()
        attached = attached_pods(connection, [row.id for row in rows])
    return DiskPage(
        [shown(row, attached.get(row.id, ())) for row in rows], total, query.offset, query.limit
    )


def get_disk(hub: Hub, caller: Caller, disk_id: str) -> Disk:
    """One disk; raises NotFound."""
    require_user(caller)
    look_again(hub, caller)
    with hub.database.read() as connection:
        row = find_disk(connection, caller, disk_id)
        return shown(row, attached_pods(connection, [row.id]).get(row.id, ()))


def create_disk(hub: Hub, caller: Caller, creation: DiskCreation) -> Disk:
    """Have a disk made.

    Its row is there before anything of it is, so that nothing can exist that nobody knows. Raises
    what `choose_offer` raises, NotFound for a team, NotAllowed, Conflict for one too many, and what
    the provider raises.
    """
    require_user(caller)
    provider, offer = choose_offer(hub, creation)
    size = creation.disk.size
    disk_id = str(uuid4())
    now = hub.now()
    values = {
        "id": disk_id,
        "tag": tag_of(tag_prefix(hub), disk_id),
        "name": check_label(creation.disk.name or "", "name of a disk") or f"disk-{disk_id[:8]}",
        "provider": provider.name,
        "size": size,
        "offer": encode(offer).decode(),
        "price_hr": price_of(offer.spec, size),
        "status": PROVISIONING,
        "created_at": now,
        "updated_at": now,
    }
    with hub.database.write() as connection:
        owned = _owners(hub, connection, caller, creation)
        _require_room(connection, owned["user_id"])
        connection.execute(insert(disks).values(**values, **owned))
        record(hub, connection, caller, "disk.create", disk_id, size=size, provider=provider.name)
    _make(hub, provider, disk_id, values)
    return get_disk(hub, caller, disk_id)


def rename_disk(hub: Hub, caller: Caller, disk_id: str, name: str) -> Disk:
    """Call a disk otherwise; raises NotFound, NotAllowed, UsageError."""
    require_user(caller)
    wanted = check_label(name, "name of a disk")
    if not wanted:
        raise UsageError("A disk needs a name")
    with hub.database.write() as connection:
        row = find_changeable(connection, caller, disk_id)
        changed = update(disks).where(disks.c.id == row.id)
        connection.execute(changed.values(name=wanted, updated_at=hub.now()))
        record(hub, connection, caller, "disk.rename", row.id, name=wanted)
    return get_disk(hub, caller, disk_id)


def terminate_disk(hub: Hub, caller: Caller, disk_id: str) -> Ended:
    """Let nothing be left of a disk.

    Raises NotFound, NotAllowed, and Conflict while it is being made or a pod has it. Where the
    provider fails it stays DELETING, and may be terminated again.
    """
    require_user(caller)
    look_again(hub, caller)
    with hub.database.write() as connection:
        require_alive(hub, connection, caller)
        row = find_changeable(connection, caller, disk_id)
        provider = provider_named(hub, row.provider)
        pods = attached_pods(connection, [row.id]).get(row.id, [])
        if pods:
            raise Conflict(
                f"Disk `{row.name}` is attached to the pod `{pods[0]}`",
                hint=f"terminate it first: `prime pods terminate {pods[0]}`",
            )
        if row.status == PROVISIONING:
            raise Conflict(
                f"Disk `{row.name}` is still being created", hint="try again in a minute"
            )
        _change(hub, connection, row.id, status=DELETING)
    provider.remove_disk(row.tag)
    with hub.database.write() as connection:
        _change(hub, connection, row.id, status=TERMINATED, terminated_at=hub.now())
        note(hub, connection, caller, "disk.terminate", row.id)
    return Ended()


def _owners(
    hub: Hub, connection: Connection, caller: Caller, creation: DiskCreation
) -> dict[str, str | None]:
    team = None
    if creation.team is not None:
        team = find_own_team(connection, caller, creation.team.team_id)
    if (caller.slug if team is None else team.slug) not in caller.writes:
        raise NotAllowed("This key may not create disks", hint="use a key with the scope `write`")
    user_id = owner_id(hub, connection, caller.slug)
    return {"user_id": user_id, "team_id": None if team is None else team.id}


def _require_room(connection: Connection, user_id: str | None) -> None:
    mine = disks.c.user_id == user_id, disks.c.terminated_at.is_(None)
    count = connection.execute(select(func.count()).select_from(disks).where(*mine)).scalar_one()
    if count >= MOST_DISKS:
        raise Conflict(
            f"There are {MOST_DISKS} disks already, the limit per user",
            hint="delete some with `prime disks terminate`",
        )


def _make(hub: Hub, provider: Provider, disk_id: str, values: Mapping[str, Any]) -> None:
    """Have it made; what fails leaves nothing, or a disk in ERROR that can be terminated."""
    try:
        provider.make_disk(values["tag"], values["size"])
    except PrimeError:
        failed: dict[str, Any] = {"status": ERROR}
        with suppress(PrimeError):
            provider.remove_disk(values["tag"])
            failed["terminated_at"] = hub.now()
        with hub.database.write() as connection:
            _change(hub, connection, disk_id, **failed)
        raise
    # Whoever looked meanwhile may have taken it for lost, or have ended it.
    is_wanted = disks.c.id == disk_id, disks.c.status.in_((PROVISIONING, ACTIVE, ERROR))
    made = {"status": ACTIVE, "terminated_at": None, "updated_at": hub.now()}
    with hub.database.write() as connection:
        connection.execute(update(disks).where(*is_wanted).values(made))


def _change(hub: Hub, connection: Connection, disk_id: str, **values: Any) -> None:
    changed = update(disks).where(disks.c.id == disk_id)
    connection.execute(changed.values(**values, updated_at=hub.now()))
