"""Which pods and disks a caller sees and may terminate, and the SSH keys that open pods."""

from collections.abc import Iterable, Sequence
from typing import Any
from uuid import uuid4

from sqlalchemy import (
    ColumnElement,
    Connection,
    Row,
    Select,
    Table,
    and_,
    delete,
    false,
    func,
    insert,
    or_,
    select,
    true,
    update,
)

from prime_cli.core.errors import Conflict, NotAllowed, NotFound, UsageError
from prime_cli.core.formatting import pluralize
from prime_cli.core.ssh_keys import read_public_key
from prime_cli.hub.context import Caller, Hub
from prime_cli.hub.db.tables import disks, members, owners, pod_members, pods, ssh_keys
from prime_cli.hub.services.access import (
    TEAM,
    check_label,
    find_own_team,
    find_owner,
    owner_id,
    require_user,
)
from prime_cli.hub.services.audit import record
from prime_cli.wire.pods import PastPodQuery
from prime_cli.wire.queries import PageQuery
from prime_cli.wire.ssh_keys import KeyChange, KeyChanged, KeyUpload, SshKey, SshKeyPage

# --- Access ---
# A pod is seen by its user; one of a team by the team's admins too, by all members when it is
# shared, and by the members that it names. For everybody else it does not exist.

SYSTEM_CALLER = Caller("hub", admin=True)
"""The caller for what the hub does by itself; no user can have that name."""

ADMIN = "ADMIN"


def select_pods() -> Select[Any]:
    """Rows of `pods` with `owner`, the slug of their user."""
    return select(pods, owners.c.slug.label("owner")).join(owners, pods.c.user_id == owners.c.id)


def read_page(
    connection: Connection,
    found: Select[Any],
    query: PageQuery | PastPodQuery,
    *order: ColumnElement[Any],
) -> tuple[Sequence[Row[Any]], int]:
    """One page of the rows, and how many there are."""
    total = connection.execute(select(func.count()).select_from(found.subquery())).scalar_one()
    page = found.order_by(*order).offset(query.offset).limit(query.limit)
    return connection.execute(page).all(), total


def is_live() -> ColumnElement[bool]:
    """The condition for a pod that exists, or is on its way."""
    return pods.c.terminated_at.is_(None)


def visible_to(caller: Caller) -> ColumnElement[bool]:
    """The condition for a caller to see a pod."""
    named = select(pod_members.c.pod_id).where(pod_members.c.user_id == _id_of(caller))
    for_members = or_(
        pods.c.shared, pods.c.team_id.in_(_teams_of(caller, ADMIN)), pods.c.id.in_(named)
    )
    return or_(
        is_of(pods, caller, caller.reads),
        and_(pods.c.team_id.in_(_slugs_to_teams(caller.reads)), for_members),
    )


def is_of(table: Table, caller: Caller, good_for: frozenset[str]) -> ColumnElement[bool]:
    """The condition under which a pod (or disk) is the caller's, for a key `good_for` some owners.

    Former members of a team still manage what they created for it, with an unlimited key.
    """
    teams = table.c.team_id.in_(_slugs_to_teams(good_for))
    mine = table.c.user_id == _id_of(caller)
    if caller.slug not in good_for:
        return and_(mine, teams)
    left = table.c.team_id.not_in(_teams_of(caller))
    return and_(mine, or_(table.c.team_id.is_(None), teams, left))


def disks_of(caller: Caller) -> ColumnElement[bool]:
    """The condition for existing disks that the caller sees."""
    teams = disks.c.team_id.in_(_slugs_to_teams(caller.reads))
    return and_(disks.c.terminated_at.is_(None), or_(is_of(disks, caller, caller.reads), teams))


def attachable_by(caller: Caller) -> ColumnElement[bool]:
    """The condition for attaching a visible disk to a pod of the caller's.

    Former members of a team still manage the disks they created for it, but cannot read them.
    """
    return or_(disks.c.team_id.is_(None), disks.c.team_id.in_(_slugs_to_teams(caller.reads)))


def endable_by(caller: Caller) -> ColumnElement[bool]:
    """The condition for a caller to end a pod; an admin of the hub may end all."""
    if caller.admin:
        return true()
    return or_(is_of(pods, caller, caller.writes), is_managed_by(pods, caller))


def is_managed_by(table: Table, caller: Caller) -> ColumnElement[bool]:
    """The condition under which a pod (or disk) is of a team whose admin the caller is, with a key
    that is good for writing there.
    """
    return and_(
        table.c.team_id.in_(_slugs_to_teams(caller.writes)),
        table.c.team_id.in_(_teams_of(caller, ADMIN)),
    )


def find_pod(connection: Connection, caller: Caller, pod_id: str) -> Row[Any]:
    """The row of a pod, even an ended one; raises NotFound."""
    query = select_pods().where(pods.c.id == pod_id, visible_to(caller))
    row = connection.execute(query).one_or_none()
    if row is None:
        raise _no_pod(pod_id)
    return row


def find_endable(connection: Connection, caller: Caller, pod_id: str) -> Row[Any]:
    """The row of a pod that the caller may end; raises NotFound or NotAllowed."""
    query = select_pods().where(pods.c.id == pod_id)
    row = connection.execute(query.where(endable_by(caller))).one_or_none()
    if row is None:
        seen = connection.execute(query.where(visible_to(caller))).one_or_none()
        if seen is None:
            raise _no_pod(pod_id)
        if not caller.writes:
            raise NotAllowed(
                "This key may not terminate pods", hint="use a key with the scope `write`"
            )
        raise NotAllowed(f"Only `{seen.owner}` and admins of the team may end `{seen.name}`")
    return row


def _no_pod(pod_id: str) -> NotFound:
    return NotFound(f"Pod `{pod_id[:80]}` not found", hint="list yours with `prime pods list`")


def _id_of(caller: Caller) -> ColumnElement[Any]:
    return select(owners.c.id).where(owners.c.slug == caller.slug).scalar_subquery()


def _slugs_to_teams(slugs: frozenset[str]) -> Select[Any]:
    if not slugs:
        return select(owners.c.id).where(false())
    return select(owners.c.id).where(owners.c.type == TEAM, owners.c.slug.in_(sorted(slugs)))


def _teams_of(caller: Caller, role: str | None = None) -> Select[Any]:
    query = select(members.c.team_id).where(members.c.user_id == _id_of(caller))
    return query if role is None else query.where(members.c.role == role)


def find_disks(
    connection: Connection, caller: Caller, disk_ids: Iterable[str]
) -> dict[str, Row[Any]]:
    """The rows of disks that the caller sees, by id; raises NotFound.

    `attachable` says whether they may be of a pod of the caller's.
    """
    wanted = dict.fromkeys(disk_ids)
    query = select(disks, attachable_by(caller).label("attachable"))
    query = query.where(disks.c.id.in_(wanted), disks_of(caller))
    found = {row.id: row for row in connection.execute(query)} if wanted else {}
    for disk_id in wanted:
        if disk_id not in found:
            raise NotFound(f"Disk `{disk_id[:80]}` not found")
    return {disk_id: found[disk_id] for disk_id in wanted}


# --- New pods, disks and sandboxes ---


def find_renter(
    hub: Hub, connection: Connection, caller: Caller, team_id: str | None, what: str
) -> tuple[str, str | None]:
    """The ids of the user and the team of what is to be rented, `pods`, `disks` or `sandboxes`.

    An owner without accounts is created on first use. Raises NotFound for a team, and NotAllowed
    for a key that is not good for the owner.
    """
    user = owner_id(hub, connection, caller.slug)
    team = None if team_id is None else find_own_team(connection, caller, team_id)
    owner = caller.slug if team is None else team.slug
    if owner not in caller.writes:
        raise NotAllowed(
            f"This key may not create {what} for `{owner}`",
            hint="use a key with the scope `write` for this owner",
        )
    return user, None if team is None else team.id


def require_fewer(connection: Connection, table: Table, user_id: str, most: int) -> None:
    """Raise Conflict if a user has `most` pods (or disks) already."""
    mine = table.c.user_id == user_id, table.c.terminated_at.is_(None)
    count = select(func.count()).select_from(table).where(*mine)
    if connection.execute(count).scalar_one() >= most:
        raise Conflict(
            f"There are {most} {table.name} already, the limit per user",
            hint=f"terminate some with `prime {table.name} terminate`",
        )


# --- Removed users and teams ---


def require_nothing_rented(connection: Connection, owner: Row[Any]) -> None:
    """Raise Conflict while a user or team has pods or disks: nobody would be left to end them."""
    by_whom = f"with a key of `{owner.slug}`"
    for table, what, who_ends in (
        (pods, "pod", f"{by_whom} or of an admin of the hub"),
        (disks, "disk", by_whom),
    ):
        theirs = or_(table.c.user_id == owner.id, table.c.team_id == owner.id)
        query = select(table.c.id, table.c.name).where(theirs, table.c.terminated_at.is_(None))
        rows = connection.execute(query.order_by(table.c.created_at, table.c.id)).all()
        if rows:
            raise Conflict(
                f"`{owner.slug}` has {pluralize(len(rows), what)}, as `{rows[0].name}`",
                hint=f"terminate it first: `prime {what}s terminate {rows[0].id}`, {who_ends}",
            )


def forget_rented(connection: Connection, owner_id: str) -> None:
    """Delete the records of a user's former pods and disks; a team's stay with their creator."""
    for table in (pods, disks):
        connection.execute(delete(table).where(table.c.user_id == owner_id))
        of_team = update(table).where(table.c.team_id == owner_id)
        connection.execute(of_team.values(team_id=None))


# --- SSH public keys of users, which grant access to their pods ---

MOST_KEYS = 100

_NEWEST_FIRST = (ssh_keys.c.created_at.desc(), ssh_keys.c.id)


def list_keys(hub: Hub, caller: Caller, query: PageQuery) -> SshKeyPage:
    """One page of the caller's keys, the primary one first, then the newest; raises NotAllowed."""
    _require_own(caller, writing=False)
    with hub.database.read() as connection:
        mine = select(ssh_keys).where(_of(connection, caller))
        order = (ssh_keys.c.is_primary.desc(), *_NEWEST_FIRST)
        rows, total = read_page(connection, mine, query, *order)
    return SshKeyPage([_shown(row) for row in rows], total, query.offset, query.limit)


def add_key(hub: Hub, caller: Caller, upload: KeyUpload) -> SshKey:
    """Add a key that opens the caller's pods; the first one becomes primary.

    Raises UsageError for an unusable key, and Conflict for a duplicate or one too many.
    """
    _require_own(caller, writing=True)
    key = read_public_key(upload.public_key)
    name = check_label(upload.name, "name of a key") or key.comment[:50] or key.fingerprint
    with hub.database.write() as connection:
        user_id = owner_id(hub, connection, caller.slug)
        mine = ssh_keys.c.user_id == user_id
        known = connection.execute(select(ssh_keys).where(mine)).all()
        for row in known:
            if row.fingerprint == key.fingerprint:
                raise Conflict(f"This key is there already, as `{row.name}`")
        if len(known) >= MOST_KEYS:
            raise Conflict(
                f"A user has at most {MOST_KEYS} keys",
                hint="remove one with `prime ssh-keys remove`",
            )
        now = hub.now()
        values = {"id": str(uuid4()), "user_id": user_id, "name": name, "public_key": key.line}
        row = connection.execute(
            insert(ssh_keys)
            .values(
                **values,
                fingerprint=key.fingerprint,
                is_primary=not known,
                created_at=now,
                updated_at=now,
            )
            .returning(ssh_keys)
        ).one()
        record(hub, connection, caller, "ssh_key.add", f"{caller.slug} {key.fingerprint}")
    return _shown(row)


def change_key(hub: Hub, caller: Caller, key_id: str, change: KeyChange) -> KeyChanged:
    """Make a key the primary one, replacing the current one; raises NotFound, UsageError."""
    _require_own(caller, writing=True)
    if change.is_primary is False:
        raise UsageError("`isPrimary` can only be true", hint="make another key the primary one")
    with hub.database.write() as connection:
        row = _find(connection, caller, key_id)
        if not change.is_primary:
            return KeyChanged("Nothing to change")
        _make_primary(hub, connection, row)
        record(hub, connection, caller, "ssh_key.primary", f"{caller.slug} {row.fingerprint}")
    return KeyChanged("SSH key updated", {"isPrimary": True})


def remove_key(hub: Hub, caller: Caller, key_id: str) -> None:
    """Remove a key: pods created from now on do not accept it; raises NotFound.

    If it was primary, the newest of the others takes its place.
    """
    _require_own(caller, writing=True)
    with hub.database.write() as connection:
        row = _find(connection, caller, key_id)
        connection.execute(delete(ssh_keys).where(ssh_keys.c.id == row.id))
        mine = ssh_keys.c.user_id == row.user_id
        newest = connection.execute(select(ssh_keys).where(mine).order_by(*_NEWEST_FIRST)).first()
        if row.is_primary and newest is not None:
            _make_primary(hub, connection, newest)
        record(hub, connection, caller, "ssh_key.remove", f"{caller.slug} {row.fingerprint}")


def keys_for(
    connection: Connection, user_ids: Sequence[str], key_id: str | None = None
) -> tuple[str, ...]:
    """The lines of `authorized_keys` for a pod: `TYPE BASE64`, each once and without a comment.

    Those of all users in `user_ids`, primary keys first; with `key_id` that key alone, which must
    be one of the first of them, who makes the pod. Raises NotFound where it is not, and UsageError
    where there is none at all.
    """
    wanted: ColumnElement[bool] = ssh_keys.c.user_id.in_(user_ids)
    if key_id is not None:
        wanted = (ssh_keys.c.id == key_id) & (ssh_keys.c.user_id == user_ids[0])
    order = (ssh_keys.c.is_primary.desc(), *_NEWEST_FIRST)
    rows = connection.execute(select(ssh_keys.c.public_key).where(wanted).order_by(*order)).all()
    if not rows and key_id is not None:
        raise _no_key(key_id)
    if not rows:
        raise UsageError(
            "You have no SSH key on this hub, so nobody could log in to the pod",
            hint="add one with `prime ssh-keys add`",
        )
    return tuple(dict.fromkeys(read_public_key(row.public_key).bare for row in rows))


def _require_own(caller: Caller, *, writing: bool) -> None:
    """Raise NotAllowed for an API key that is not valid for its user, or not for writing."""
    require_user(caller)
    if caller.slug not in (caller.writes if writing else caller.reads):
        raise NotAllowed(
            f"This API key may not {'change' if writing else 'see'} SSH keys of `{caller.slug}`",
            hint="use a key with the scope `write` that is not limited to a team",
        )


def _of(connection: Connection, caller: Caller) -> ColumnElement[bool]:
    owner = find_owner(connection, caller.slug)
    return ssh_keys.c.user_id == (owner.id if owner is not None else "")


def _find(connection: Connection, caller: Caller, key_id: str) -> Row[Any]:
    row = connection.execute(
        select(ssh_keys).where(ssh_keys.c.id == key_id, _of(connection, caller))
    ).one_or_none()
    if row is None:
        raise _no_key(key_id)
    return row


def _no_key(key_id: str) -> NotFound:
    return NotFound(
        f"SSH key `{key_id[:80]}` not found", hint="list yours with `prime ssh-keys list`"
    )


def _make_primary(hub: Hub, connection: Connection, row: Row[Any]) -> None:
    mine = update(ssh_keys).where(ssh_keys.c.user_id == row.user_id)
    connection.execute(mine.where(ssh_keys.c.is_primary).values(is_primary=False))
    chosen = mine.where(ssh_keys.c.id == row.id)
    connection.execute(chosen.values(is_primary=True, updated_at=hub.now()))


def _shown(row: Row[Any]) -> SshKey:
    names = [each for each in SshKey.__struct_fields__ if each in ssh_keys.c]
    return SshKey(**{each: getattr(row, each) for each in names})
