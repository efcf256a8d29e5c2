"""Teams: owners that several users publish for."""

from collections.abc import Iterable, Sequence
from typing import Any, Literal

from sqlalchemy import ColumnElement, Connection, Row, delete, func, insert, select, update

from prime_cli.core.errors import Conflict, NotAllowed, NotFound, UsageError
from prime_cli.hub.context import Caller, Hub
from prime_cli.hub.db.engine import read_page
from prime_cli.hub.db.tables import invitations, members, owners
from prime_cli.hub.services.access import (
    TEAM,
    check_label,
    check_slug,
    find_own_team,
    find_owner,
    find_team,
    require_free,
    require_unlimited,
)
from prime_cli.hub.services.audit import record
from prime_cli.hub.services.environments import forget_mirrored
from prime_cli.hub.services.users import (
    find_user,
    remove_owner,
    require_admin,
    require_nothing_owned,
)
from prime_cli.hub.tokens import new_team_id
from prime_cli.wire.accounts import Member, MemberPage, Team, TeamItem, TeamPage
from prime_cli.wire.queries import PageQuery

Role = Literal["ADMIN", "MEMBER"]
ADMIN: Role = "ADMIN"
MEMBER: Role = "MEMBER"

_MEMBERS = "who is in a team"


def add_to_team(
    hub: Hub, caller: Caller, slug: str, users: Sequence[str], *, name: str = ""
) -> TeamItem:
    """Add `users` (`ada`, or `ada:admin`) to a team, created if missing: all or nobody.

    Raises UsageError, NotFound for a user, NotAllowed, and Conflict if there is nobody to add and
    the team exists.
    """
    require_admin(caller)
    wanted = [read_member(user) for user in users]
    forget_mirrored(hub, slug)
    with hub.database.write() as connection:
        found = find_owner(connection, slug)
        if found is None or found.type != TEAM or not wanted:
            _create(hub, connection, caller, slug, name)
        team = find_team(connection, slug)
        for user, role in wanted:
            _set_member(hub, connection, caller, team, user, role)
    return next(item for item in list_teams(hub) if item.slug == slug)


def read_member(text: str) -> tuple[str, Role]:
    """The slug and role in `ada`, `ada:member` or `ada:admin`; raises UsageError."""
    user, _, role = text.partition(":")
    return user, read_role(role or MEMBER)


def remove_team(hub: Hub, caller: Caller, slug: str) -> None:
    """Remove a team, with the keys that are valid for it alone.

    Raises Conflict while it owns anything that is published, or rents anything.
    """
    require_admin(caller)
    with hub.database.write() as connection:
        team = find_team(connection, slug)
        require_nothing_owned(connection, team, hint="delete that first, with a key of a member")
        remove_owner(connection, team)
        record(hub, connection, caller, "team.remove", team.slug)


def set_member(hub: Hub, caller: Caller, slug: str, user: str, role: str = MEMBER) -> None:
    """Add a user to a team, or change the role.

    Raises NotFound, also for a team that the caller is not in, NotAllowed or UsageError.
    """
    wanted = read_role(role)
    with hub.database.write() as connection:
        team = find_managed_team(connection, caller, slug)
        require_unlimited(caller, _MEMBERS)
        require_manager(caller, team)
        _set_member(hub, connection, caller, team, user, wanted)


def find_managed_team(connection: Connection, caller: Caller, slug: str) -> Row[Any]:
    """The row of a team that the caller is in, or of any for an admin of the hub.

    Raises NotFound.
    """
    if caller.admin:
        return find_team(connection, slug)
    return find_own_team(connection, caller, slug)


def remove_member(hub: Hub, caller: Caller, slug: str, user: str) -> None:
    """Remove a user from a team; the user's keys lose it at once.

    Everybody may leave, with a key of the scope `write`. Raises NotFound or NotAllowed, and
    Conflict for the last admin.
    """
    with hub.database.write() as connection:
        team = find_managed_team(connection, caller, slug)
        require_unlimited(caller, _MEMBERS)
        if not (user == caller.slug and team.slug in caller.writes):
            require_manager(caller, team)
        member = find_user(connection, user)
        _require_other_admin(connection, caller, team, member)
        if not connection.execute(delete(members).where(*_is(team, member))).rowcount:
            raise NotFound(f"`{member.slug}` is not in the team `{team.slug}`")
        _end_invitations(connection, team, member)
        record(hub, connection, caller, "team.leave", team.slug, user=member.slug)


def list_teams(hub: Hub) -> list[TeamItem]:
    """All teams with their members, by slug."""
    users = owners.alias("users")
    joined = (
        select(members.c.team_id, members.c.role, users.c.slug)
        .join(users, users.c.id == members.c.user_id)
        .order_by(users.c.slug)
    )
    with hub.database.read() as connection:
        teams = connection.execute(
            select(owners).where(owners.c.type == TEAM).order_by(owners.c.slug)
        ).all()
        rows = connection.execute(joined).all()
    return _items(teams, rows)


def _items(teams: Iterable[Row[Any]], inside: Iterable[Any]) -> list[TeamItem]:
    found: dict[str, list[str]] = {}
    for row in inside:
        shown = f"{row.slug}:admin" if row.role == ADMIN else row.slug
        found.setdefault(row.team_id, []).append(shown)
    return [
        TeamItem(
            team.slug, team.id, team.name or team.slug, found.get(team.id, []), team.created_at
        )
        for team in teams
    ]


def list_team_page(
    hub: Hub, caller: Caller, query: PageQuery, most: int
) -> tuple[list[tuple[TeamItem, int]], int]:
    """One page of all teams, each with at most so many of its members and the number of all.

    Also the number of teams. Raises NotAllowed.
    """
    require_admin(caller)
    users = owners.alias("users")
    team_id = members.c.team_id
    place = func.row_number().over(partition_by=team_id, order_by=users.c.slug)
    with hub.database.read() as connection:
        all_teams = select(owners).where(owners.c.type == TEAM)
        teams, total = read_page(connection, all_teams, owners.c.slug, query)
        mine = team_id.in_([team.id for team in teams])
        counted = select(team_id, func.count()).where(mine).group_by(team_id)
        counts = {row[0]: row[1] for row in connection.execute(counted)}
        joined = select(team_id, members.c.role, users.c.slug, place.label("place"))
        inside = joined.join(users, users.c.id == members.c.user_id).where(mine).subquery()
        first = select(inside).where(inside.c.place <= most).order_by(inside.c.slug)
        rows = connection.execute(first).all()
    return [(each, counts.get(each.id, 0)) for each in _items(teams, rows)], total


def list_own_teams(hub: Hub, caller: Caller, query: PageQuery) -> TeamPage:
    """One page of the teams that the caller is in, and that the key is valid for."""
    users = owners.alias("users")
    mine = (
        select(owners, members.c.role)
        .join(members, members.c.team_id == owners.c.id)
        .join(users, users.c.id == members.c.user_id)
        .where(users.c.slug == caller.slug, owners.c.slug.in_(caller.reads))
    )
    with hub.database.read() as connection:
        rows, total = read_page(connection, mine, owners.c.slug, query)
    return TeamPage(
        [Team(row.id, row.name or row.slug, row.slug, row.role, row.created_at) for row in rows],
        total,
        query.offset,
        query.limit,
    )


def list_members(hub: Hub, caller: Caller, team_id: str, query: PageQuery) -> MemberPage:
    """One page of a team's members; raises NotFound for a team that the caller is not in."""
    with hub.database.read() as connection:
        team = find_own_team(connection, caller, team_id)
        inside = (
            select(owners, members.c.role, members.c.created_at.label("joined_at"))
            .join(members, members.c.user_id == owners.c.id)
            .where(members.c.team_id == team.id)
        )
        rows, total = read_page(connection, inside, owners.c.slug, query)
    data = [
        Member(row.id, row.name or row.slug, row.email, row.role, row.joined_at, row.slug)
        for row in rows
    ]
    return MemberPage(data, total, query.offset, query.limit)


def _create(hub: Hub, connection: Connection, caller: Caller, slug: str, name: str) -> None:
    check_slug(slug)
    require_free(connection, slug, owner_id=None, admin=True)
    values = {"id": new_team_id(), "slug": slug, "type": TEAM, "name": check_label(name, "name")}
    connection.execute(insert(owners).values(**values, created_at=hub.now()))
    record(hub, connection, caller, "team.create", slug)


def _set_member(
    hub: Hub, connection: Connection, caller: Caller, team: Row[Any], user: str, role: Role
) -> None:
    put_member(hub, connection, caller, team, find_user(connection, user), role)


def put_member(
    hub: Hub, connection: Connection, caller: Caller, team: Any, member: Row[Any], role: Role
) -> None:
    """Add the row of a user to that of a team, or change the role; raises Conflict."""
    changed = update(members).where(*_is(team, member)).values(role=role)
    if role != ADMIN:
        _require_other_admin(connection, caller, team, member)
        _end_invitations(connection, team, member)
    if not connection.execute(changed).rowcount:
        values = {"team_id": team.id, "user_id": member.id, "role": role}
        connection.execute(insert(members).values(**values, created_at=hub.now()))
    record(hub, connection, caller, "team.member", team.slug, user=member.slug, role=role)


def _require_other_admin(connection: Connection, caller: Caller, team: Any, member: Any) -> None:
    """Raise Conflict if nobody but an admin of the hub could manage the team without `member`."""
    admins = select(members.c.user_id).where(members.c.team_id == team.id, members.c.role == ADMIN)
    if not caller.admin and connection.execute(admins).scalars().all() == [member.id]:
        raise Conflict(
            f"`{member.slug}` is the last admin of the team `{team.slug}`",
            hint=f"make somebody else an admin first: `prime teams add {team.slug} USER:admin`",
        )


def read_role(text: str) -> Role:
    """`admin` or `member` in any case; raises UsageError."""
    role = text.upper()
    if role == ADMIN:
        return ADMIN
    if role == MEMBER:
        return MEMBER
    raise UsageError(f"`{text[:80]}` is not a role", hint="write admin or member")


def require_manager(caller: Caller, team: Row[Any]) -> None:
    """Raise NotAllowed unless the caller may change who is in the team."""
    if not (caller.admin or team.slug in caller.manages):
        raise NotAllowed(
            f"Only an admin of the team `{team.slug}` or of this hub may do that",
            hint="an admin needs a key with the scope `admin`: `prime keys create --scope admin`",
        )


def _end_invitations(connection: Connection, team: Any, user: Row[Any]) -> None:
    """Those of somebody who is no longer an admin, for good: also if that is changed back."""
    its = (invitations.c.team_id == team.id, invitations.c.inviter_id == user.id)
    connection.execute(delete(invitations).where(*its))


def _is(team: Any, user: Row[Any]) -> tuple[ColumnElement[bool], ...]:
    return members.c.team_id == team.id, members.c.user_id == user.id
