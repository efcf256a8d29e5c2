"""Rows of disks: finding, refreshing and showing them, and the offer that a request means."""

from collections.abc import Collection, Iterable
from typing import Any

from sqlalchemy import Connection, Row, Select, select, update

from prime_cli.core.errors import NotAllowed, NotFound, PrimeError, UsageError
from prime_cli.hub.compute.provider import Provider
from prime_cli.hub.context import Caller, Hub
from prime_cli.hub.db.tables import disks, owners, pod_disks, pods
from prime_cli.hub.services.compute.access import disks_of, is_live, is_managed_by
from prime_cli.hub.services.compute.offers import gather
from prime_cli.hub.services.compute.providers import (
    ask,
    find_provider,
    require_providers,
    tag_prefix,
)
from prime_cli.wire.codec import decode
from prime_cli.wire.disks import (
    ACTIVE,
    DELETING,
    ERROR,
    PROVISIONING,
    TERMINATED,
    Disk,
    DiskCreation,
    check_size,
)
from prime_cli.wire.offers import DiskOffer

# --- Offers ---

_MOST_NAMED = 5


def choose_offer(hub: Hub, creation: DiskCreation) -> tuple[Provider, DiskOffer]:
    """The one offer that has all that is asked for, and the provider that makes it.

    Raises NotFound where there is none, UsageError where there are several or the size is not one
    of its sizes, and what providers raise.
    """
    require_providers(hub)
    wanted = creation.disk
    asked = {
        "provider": creation.provider.type,
        "cloudId": wanted.cloud_id,
        "dataCenterId": wanted.data_center_id,
        "country": wanted.country,
    }
    found = [
        (provider, offer)
        for provider, offer in gather(hub, lambda provider: provider.disk_offers())
        if all(
            text is None or text == there
            for text, there in zip(asked.values(), _place(offer), strict=True)
        )
    ]
    if not found:
        told = ", ".join(f"{name} `{text[:80]}`" for name, text in asked.items() if text)
        raise NotFound(
            f"No disk is offered{f' with {told}' if told else ''}",
            hint="list them with `prime availability disks`",
        )
    if len(found) > 1:
        named = ", ".join(f"`{offer.cloud_id or offer.provider}`" for _, offer in found)
        raise UsageError(
            f"{len(found)} kinds of disks match",
            hint=f"name one by its cloudId, dataCenterId or provider: {named}"
            if len(found) <= _MOST_NAMED
            else "name one by its cloudId, dataCenterId or provider",
        )
    check_size(found[0][1].spec, wanted.size)
    return found[0]


def _place(offer: DiskOffer) -> tuple[str | None, ...]:
    return offer.provider, offer.cloud_id, offer.data_center, offer.country


# --- Rows ---

_SECONDS_TO_MAKE = 60


def select_disks(caller: Caller) -> Select[Any]:
    """Rows of `disks` that the caller sees, with the slugs of their user and team."""
    users, teams = owners.alias("users"), owners.alias("teams")
    return (
        select(disks, users.c.slug.label("owner"), teams.c.slug.label("team"))
        .join(users, disks.c.user_id == users.c.id)
        .outerjoin(teams, disks.c.team_id == teams.c.id)
        .where(disks_of(caller))
    )


def find_disk(connection: Connection, caller: Caller, disk_id: str) -> Row[Any]:
    """The row of a disk that is there; raises NotFound."""
    row = connection.execute(select_disks(caller).where(disks.c.id == disk_id)).one_or_none()
    if row is None:
        raise NotFound(
            f"Disk `{disk_id[:80]}` not found", hint="list yours with `prime disks list`"
        )
    return row


def find_changeable(connection: Connection, caller: Caller, disk_id: str) -> Row[Any]:
    """The same for its user, or an admin of its team; raises NotFound or NotAllowed."""
    row = find_disk(connection, caller, disk_id)
    good_for = {row.owner if row.team_id is None else row.team, caller.slug} & caller.writes
    if not good_for:
        raise NotAllowed("This key may not change disks", hint="use a key with the scope `write`")
    managed = select(disks.c.id).where(disks.c.id == row.id, is_managed_by(disks, caller))
    if row.owner != caller.slug and connection.execute(managed).first() is None:
        raise NotAllowed(
            f"Only `{row.owner}` and admins of the team `{row.team}` may change `{row.name}`"
        )
    return row


def look_again(hub: Hub, caller: Caller) -> None:
    """Find out what became of disks that were long ago about to be made or removed.

    Whoever was at it has been killed, so only the provider knows. Of what a provider does not
    tell, nothing is believed.
    """
    long_ago = disks.c.updated_at < hub.after(-_SECONDS_TO_MAKE)
    open_ones = disks.c.status.in_((PROVISIONING, DELETING))
    with hub.database.read() as connection:
        rows = connection.execute(select_disks(caller).where(open_ones, long_ago)).all()
    for name in sorted({row.provider for row in rows}):
        provider = find_provider(hub, name)
        if provider is None:
            continue
        prefix = tag_prefix(hub)
        tags = ask(provider, lambda each: each.list_disk_tags(prefix))  # noqa: B023 - called at once
        if not isinstance(tags, PrimeError):
            _settle(hub, [row for row in rows if row.provider == name], tags)


def attached_pods(connection: Connection, disk_ids: Collection[str]) -> dict[str, list[str]]:
    """The ids of the live pods that disks are attached to, by the id of the disk."""
    rows = connection.execute(
        select(pod_disks)
        .join(pods, pods.c.id == pod_disks.c.pod_id)
        .where(pod_disks.c.disk_id.in_(disk_ids), is_live())
        .order_by(pods.c.created_at, pods.c.id)
    )
    found: dict[str, list[str]] = {}
    for row in rows:
        found.setdefault(row.disk_id, []).append(row.pod_id)
    return found


def shown(row: Row[Any], attached: Iterable[str] = ()) -> Disk:
    """A row of `disks`, with the pods that it is attached to."""
    offer = decode(row.offer.encode(), DiskOffer)
    return Disk(
        id=row.id,
        name=row.name,
        created_at=row.created_at,
        updated_at=row.updated_at,
        terminated_at=row.terminated_at,
        status=row.status,
        provider_type=row.provider,
        size=row.size,
        info={
            "country": offer.country,
            "dataCenterId": offer.data_center,
            "cloudId": offer.cloud_id,
            "isMultinode": offer.is_multinode,
        },
        price_hr=row.price_hr,
        user_id=row.user_id,
        team_id=row.team_id,
        pods=list(attached),
    )


def _settle(hub: Hub, rows: Iterable[Row[Any]], tags: Collection[str]) -> None:
    now = hub.now()
    for row in rows:
        if row.tag in tags and row.status == DELETING:
            continue  # whoever asked for it may ask again
        values: dict[str, Any] = {"status": ACTIVE if row.tag in tags else ERROR}
        if row.tag not in tags:
            values |= {"terminated_at": now}
            values |= {"status": TERMINATED} if row.status == DELETING else {}
        unchanged = disks.c.status == row.status
        with hub.database.write() as connection:
            connection.execute(
                update(disks)
                .where(disks.c.id == row.id, unchanged)
                .values(**values, updated_at=now)
            )
