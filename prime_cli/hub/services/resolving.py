"""Environments by name: made when there is none, or looked up."""

from sqlalchemy import Connection, insert, select, update

from prime_cli.core.errors import NotFound, UsageError
from prime_cli.core.refs import EnvRef, normalize_name
from prime_cli.hub.context import Caller, Hub
from prime_cli.hub.db.tables import environments, owners
from prime_cli.hub.services.access import (
    find_by_id,
    find_environment,
    find_visible,
    read_visibility,
    require_owner_slug,
)
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
    ref = _ref_of(caller, request)
    visibility = read_visibility(request.visibility)
    with hub.database.write() as connection:
        known = find_visible(connection, caller, ref)
        if known is None:
            _create(hub, connection, ref, visibility or hub.settings.default_visibility)
        elif visibility not in (None, known.visibility):
            _change_visibility(hub, connection, known.id, visibility)
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


def _ref_of(caller: Caller, request: ResolveRequest) -> EnvRef:
    """What is to be written. Old clients send the slug of any owner as `team_slug`."""
    if request.team_id:
        raise NotFound(f"Team `{request.team_id}` not found", hint="this hub has no teams")
    owner = request.owner_slug or request.team_slug or caller.slug
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


def _create(hub: Hub, connection: Connection, ref: EnvRef, visibility: str) -> None:
    now = hub.now()
    connection.execute(
        insert(environments).values(
            id=new_id("env"),
            owner_id=_owner_id(hub, connection, ref.owner),
            name=ref.name,
            normalized_name=normalize_name(ref.name),
            visibility=visibility,
            description="",
            index_stale=False,
            created_at=now,
            updated_at=now,
        )
    )


def _owner_id(hub: Hub, connection: Connection, slug: str) -> str:
    known = connection.execute(select(owners.c.id).where(owners.c.slug == slug)).scalar()
    if known is not None:
        return str(known)
    owner_id = new_id("user")
    connection.execute(
        insert(owners).values(id=owner_id, slug=slug, type="user", created_at=hub.now())
    )
    return owner_id
