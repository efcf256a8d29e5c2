"""Accepting an invitation: a user joins a team, or a new user signs up."""

from typing import Any, NamedTuple

from sqlalchemy import Connection, Row, delete, select, update

from prime_cli.core.errors import Conflict, NotAllowed, NotFound, UsageError
from prime_cli.hub.context import OPERATOR, Caller, Hub
from prime_cli.hub.db.tables import invitations, members
from prime_cli.hub.services.access import check_slug, require_unlimited, require_valid_key
from prime_cli.hub.services.audit import record
from prime_cli.hub.services.environments import forget_mirrored
from prime_cli.hub.services.invitations import describe_invitation, select_valid, signs_up
from prime_cli.hub.services.keys import ADMIN as ADMIN_SCOPE
from prime_cli.hub.services.keys import create_key
from prime_cli.hub.services.logins import few_failures, network_of
from prime_cli.hub.services.teams import ADMIN, put_member
from prime_cli.hub.services.users import add_user, find_user, require_accounts
from prime_cli.hub.tokens import token_digest
from prime_cli.wire.invitations import SIGN_UP_KEY, Acceptance, Accepted, Invitation

MOST_FAILURES = 10
"""Wrong tokens and names from one address in ten minutes."""


def show_invitation(hub: Hub, caller: Caller, token: str) -> Invitation:
    """What the token is an invitation to; raises NotFound, RateLimited."""
    require_accounts(hub)
    with few_failures(hub, _place(caller), most=MOST_FAILURES):
        return describe_invitation(hub, _find(hub, token))


def accept_invitation(hub: Hub, caller: Caller, given: Acceptance) -> Accepted:
    """The caller joins the team; without a key a new user signs up.

    Raises NotFound for a token that is unknown, used, revoked or expired, or whose inviter may no
    longer invite: all in the same words. Raises NotAllowed for somebody else's, Conflict for a
    member and for a name that is taken, UsageError, RateLimited.
    """
    require_accounts(hub)
    require_valid_key(caller)
    with few_failures(hub, _place(caller), most=MOST_FAILURES, also=Conflict):
        found = _find(hub, given.token)
        name = caller.slug or _check_name(hub, found, given)
        if not caller.slug and found.for_user and found.by_hub_admin:
            forget_mirrored(hub, name)
        with hub.database.write() as connection:
            # Of several at once, each sees what those before it have used up.
            row = _take(hub, connection, given.token)
            if caller.slug:
                return _join(hub, connection, caller, row)
            return _sign_up(hub, connection, caller, row, name)


def _join(hub: Hub, connection: Connection, caller: Caller, row: Row[Any]) -> Accepted:
    if row.for_user not in (None, caller.slug):
        raise NotAllowed(
            f"This invitation is for `{row.for_user}`, and you are `{caller.slug}`",
            hint="log in as that user, or ask for an invitation of your own",
        )
    require_unlimited(caller, "who is in a team")
    if caller.slug not in caller.writes:
        raise NotAllowed("This key is read-only", hint="use a key with the scope `write`")
    if row.team_id is None:
        raise Conflict(
            f"You have an account here already: you are `{caller.slug}`",
            hint="nothing is left to do; see `prime whoami`",
        )
    user = find_user(connection, caller.slug)
    now = connection.execute(
        select(members.c.role).where(members.c.team_id == row.team_id, members.c.user_id == user.id)
    ).scalar()
    if now in (row.role, ADMIN):
        raise Conflict(
            f"You are in the team `{row.team}` already",
            hint=f"work for it with `prime switch {row.team}`",
        )
    put_member(hub, connection, caller, _team_of(row), user, row.role)
    _note(hub, connection, caller, row, user.slug)
    return Accepted(user.slug, row.team, row.role.lower())


def _sign_up(
    hub: Hub, connection: Connection, caller: Caller, row: Row[Any], name: str
) -> Accepted:
    """A new user, whose first key has no parent: it outlives that of the inviter."""
    new = Caller(name, address=caller.address)
    is_named = bool(row.for_user and row.by_hub_admin)
    user_id = add_user(hub, connection, new, name, admin=bool(row.admin), may_reuse=is_named)
    key_name = f"{SIGN_UP_KEY}{caller.address or 'an unknown address'}"
    key = create_key(hub, connection, user_id, name=key_name, scope=ADMIN_SCOPE)
    detail = {"scope": ADMIN_SCOPE, "name": key_name, "key": key.id}
    record(hub, connection, new, "key.create", name, **detail)
    if row.team_id is not None:
        put_member(hub, connection, new, _team_of(row), find_user(connection, name), row.role)
    _note(hub, connection, Caller(name, key_id=row.key_id, address=caller.address), row, name)
    return Accepted(name, row.team, row.role.lower() or None, key.key)


def _check_name(hub: Hub, row: Row[Any], given: Acceptance) -> str:
    """The name of the new user; raises NotAllowed, UsageError."""
    if not signs_up(hub, row):
        raise NotAllowed(
            "This invitation is for people who have an account on this hub",
            hint="log in with `prime login`, then accept it again; without an account, ask an "
            "admin of the hub for an invitation",
        )
    name = given.user or row.for_user
    if name is None:
        raise UsageError("A new user needs a name", hint="choose one with `--user NAME`")
    if row.for_user not in (None, name):
        raise NotAllowed(f"This invitation is for `{row.for_user}`")
    check_slug(name)
    return str(name)


def _note(hub: Hub, connection: Connection, caller: Caller, row: Row[Any], user: str) -> None:
    """Record who came in, by whose invitation; a new user's entry has the key that it came with."""
    by = row.inviter or OPERATOR
    detail = {"invitation": row.id, "by": by, "by_key": row.key_id, "team": row.team}
    record(hub, connection, caller, "invitation.accept", user, **detail)


def _find(hub: Hub, token: str) -> Row[Any]:
    with hub.database.read() as connection:
        return _one(hub, connection, token)


def _take(hub: Hub, connection: Connection, token: str) -> Row[Any]:
    """The row of a token, with one use of it used up, in the caller's transaction."""
    row = _one(hub, connection, token)
    its = invitations.c.id == row.id
    if row.uses_left > 1:
        fewer = update(invitations).where(its).values(uses_left=row.uses_left - 1)
        connection.execute(fewer)
    else:
        connection.execute(delete(invitations).where(its))
    return row


def _one(hub: Hub, connection: Connection, token: str) -> Row[Any]:
    digest = token_digest(token)
    found = connection.execute(select_valid(hub, invitations.c.sha256 == digest)).one_or_none()
    if found is None:
        raise NotFound(
            "This invitation does not exist, or is no longer valid",
            hint="ask the person who sent it for a new one",
        )
    return found


class _Team(NamedTuple):
    """What `put_member` reads of the row of a team."""

    id: str
    slug: str


def _team_of(row: Row[Any]) -> _Team:
    return _Team(row.team_id, row.team)


def _place(caller: Caller) -> str:
    return f"invitation from {network_of(caller.address)}"
