"""Environments by name: made when there is none, or looked up."""

from sqlalchemy import Connection, insert, update

from prime_cli.core.errors import UsageError
from prime_cli.core.refs import EnvRef, normalize_name
from prime_cli.hub.context import Caller, Hub
from prime_cli.hub.db.tables import environments
from prime_cli.hub.listings import list_anew
from prime_cli.hub.services.access import (
    find_by_id,
    find_environment,
    find_visible,
    read_visibility,
    require_owner_slug,
    require_user,
)
from prime_cli.hub.services.audit import record
from prime_cli.hub.services.owners import find_own_team, owner_id
from prime_cli.hub.services.serial import raise_serial
from prime_cli.hub.tokens import new_id
from prime_cli.wire.environments import (
    LookupReply,
    LookupRequest,
    Owner,
    ResolveReply,
    ResolveRequest,
)


def resolve(hub: Hub, caller: Caller, request: ResolveRequest) -> ResolveReply:
    """The environment of that name, made when there is none.

    A visibility that is given changes that of an existing environment. Raises NotAllowed for
    another owner, UsageError for names that cannot be.
    """
    visibility = read_visibility(request.visibility)
    require_user(caller)
    with hub.database.write() as connection:
        ref = _ref_of(connection, caller, request)
        known = find_visible(connection, caller, ref)
        if known is None:
            visibility = visibility or hub.settings.default_visibility
            create_environment(hub, connection, ref, visibility)
            record(hub, connection, caller, "environment.create", ref.slug, visibility=visibility)
        elif visibility not in (None, known.visibility):
            _change_visibility(hub, connection, known.id, visibility)
            detail = {"was": known.visibility, "is": visibility}
            record(hub, connection, caller, "environment.visibility", ref.slug, **detail)
        row = find_environment(connection, caller, ref)
    owner = Owner(row.owner, row.owner_type)
    return ResolveReply(row.id, row.name, owner, row.visibility, created=known is None)


def lookup(hub: Hub, caller: Caller, request: LookupRequest) -> LookupReply:
    """An environment by id or `owner/name`, or by name and owner; raises NotFound."""
    with hub.database.read() as connection:
        if request.id:
            row = find_by_id(connection, caller, request.id)
        elif request.name:
            owner = request.team_slug or caller.slug
            row = find_environment(connection, caller, EnvRef.parse(f"{owner}/{request.name}"))
        else:
            raise UsageError("Either `id` or `name` is needed")
    return LookupReply(row.id, row.name, Owner(row.owner, row.owner_type))


def _ref_of(connection: Connection, caller: Caller, request: ResolveRequest) -> EnvRef:
    """What is to be written. Old clients send the slug of any owner as `team_slug`."""
    owner = request.owner_slug or request.team_slug or caller.slug
    if request.team_id:
        owner = find_own_team(connection, caller, request.team_id).slug
    require_owner_slug(caller, owner, f"{owner}/{request.name}")
    ref = EnvRef.parse(f"{owner}/{request.name}")
    if ref.version is not None:
        raise UsageError(f"`{request.name}` is not the name of an environment")
    return ref


def _change_visibility(
    hub: Hub, connection: Connection, environment_id: str, visibility: str | None
) -> None:
    connection.execute(
        update(environments)
        .where(environments.c.id == environment_id)
        .values(visibility=visibility, updated_at=hub.now())
    )
    list_anew(connection, environment_id)
    raise_serial(connection, environment_id)


def create_environment(hub: Hub, connection: Connection, ref: EnvRef, visibility: str) -> None:
    """Make an environment that has no version yet, and so is in no list."""
    now = hub.now()
    made = new_id("env")
    connection.execute(
        insert(environments).values(
            id=made,
            owner_id=owner_id(hub, connection, ref.owner),
            name=ref.name,
            normalized_name=normalize_name(ref.name),
            visibility=visibility,
            description="",
            index_stale=False,
            created_at=now,
            updated_at=now,
        )
    )
    raise_serial(connection, made)
