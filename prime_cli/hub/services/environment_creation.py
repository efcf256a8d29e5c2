"""Create environments: by name (resolve), or as a fork."""

from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, Table, delete, insert, select, update

from prime_cli.core.errors import Conflict, UsageError
from prime_cli.core.refs import LATEST, EnvRef, normalize_name
from prime_cli.hub.context import Caller, Hub
from prime_cli.hub.db.tables import (
    artifacts,
    environments,
    locks,
    pending_visibilities,
    reports,
    versions,
    wheel_metadata,
)
from prime_cli.hub.search_index import reindex
from prime_cli.hub.services.access import (
    PRIVATE,
    find_by_id,
    find_environment,
    find_own_team,
    find_team,
    find_visible,
    owner_id,
    read_visibility,
    require_owner_slug,
    require_publisher,
    require_user,
)
from prime_cli.hub.services.artifacts import size_of_artifacts
from prime_cli.hub.services.audit import raise_serial, record
from prime_cli.hub.services.evaluations.standings import update_shared_standings
from prime_cli.hub.services.package_index import refresh_index
from prime_cli.hub.services.quotas import require_storage
from prime_cli.hub.services.versions import find_version, metadata_of, update_latest
from prime_cli.hub.tokens import new_id
from prime_cli.wire.codec import encode
from prime_cli.wire.environments import (
    ForkReply,
    ForkRequest,
    LookupReply,
    LookupRequest,
    Owner,
    ResolveReply,
    ResolveRequest,
)

# --- Resolve ---


def resolve(hub: Hub, caller: Caller, request: ResolveRequest) -> ResolveReply:
    """The environment of that name, created if missing.

    Of a push it is the first step, and nobody sees more or less by it: the visibility that is given
    is granted with the version that the caller finalizes. Until then a new environment has it only
    if it is no wider than this hub's default. Raises NotAllowed for another owner, UsageError for
    invalid names.
    """
    visibility = read_visibility(request.visibility)
    require_user(caller)
    with hub.database.write() as connection:
        ref = _ref_of(connection, caller, request)
        known = find_visible(connection, caller, ref)
        if known is None:
            first = PRIVATE if visibility == PRIVATE else hub.settings.default_visibility
            create_environment(hub, connection, ref, first)
            record(hub, connection, caller, "environment.create", ref.slug, visibility=first)
        elif known.taken_down is None and visibility not in (None, known.visibility):
            require_owner_slug(caller, ref.owner, ref.slug)
        row = find_environment(connection, caller, ref)
        _set_pending_visibility(connection, caller, row.id, visibility)
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
    """What to create. Old clients send the slug of any owner as `team_slug`."""
    owner = request.owner_slug or request.team_slug or caller.slug
    if request.team_id:
        owner = find_own_team(connection, caller, request.team_id).slug
    require_publisher(caller, owner, request.name)
    ref = EnvRef.parse(f"{owner}/{request.name}")
    if ref.version is not None:
        raise UsageError(f"`{request.name}` is not a valid environment name")
    return ref


def _set_pending_visibility(
    connection: Connection, caller: Caller, environment_id: str, visibility: str | None
) -> None:
    """Replace what the caller asked for by this, or by nothing."""
    connection.execute(delete(pending_visibilities).where(*_is_pending(caller, environment_id)))
    if visibility is not None:
        kept = {"environment_id": environment_id, "publisher": _publisher(caller)}
        connection.execute(insert(pending_visibilities).values(**kept, visibility=visibility))


def apply_pending_visibility(
    hub: Hub, connection: Connection, caller: Caller, environment: Row[Any]
) -> None:
    """Give an environment the visibility that its publisher asked for with this push, if any."""
    is_pending = _is_pending(caller, environment.id)
    wanted = connection.execute(
        delete(pending_visibilities).where(*is_pending).returning(pending_visibilities.c.visibility)
    )
    visibility = wanted.scalar()
    if visibility is None:
        return
    changed = connection.execute(
        update(environments)
        .where(
            environments.c.id == environment.id,
            environments.c.visibility != visibility,
            environments.c.taken_down.is_(None),
        )
        .values(visibility=visibility, updated_at=hub.now())
    )
    if changed.rowcount:
        update_shared_standings(connection, environment.id)
        reindex(connection, environment.id)
        raise_serial(connection, environment.id)
        slug, was = f"{environment.owner}/{environment.name}", environment.visibility
        detail = {"was": was, "is": visibility}
        record(hub, connection, caller, "environment.visibility", slug, **detail)


def _is_pending(caller: Caller, environment_id: str) -> tuple[ColumnElement[bool], ...]:
    return (
        pending_visibilities.c.environment_id == environment_id,
        pending_visibilities.c.publisher == _publisher(caller),
    )


def _publisher(caller: Caller) -> str:
    return caller.key_id or caller.slug


def create_environment(hub: Hub, connection: Connection, ref: EnvRef, visibility: str) -> None:
    """Create an environment without a version, which is therefore in no list."""
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


# --- Fork ---


def fork(hub: Hub, caller: Caller, ref: EnvRef, request: ForkRequest) -> ForkReply:
    """Copy the newest version; its bytes are shared. What is private stays private.

    Raises NotFound, NotAllowed, Conflict when the owner has an environment of that name.
    """
    require_user(caller)
    with hub.database.write() as connection:
        source = find_environment(connection, caller, ref)
        version = find_version(connection, source, LATEST)
        target = EnvRef(_owner(connection, caller, request), source.name)
        require_owner_slug(caller, target.owner, target.slug)
        if find_visible(connection, caller, target) is not None:
            raise Conflict(
                f"`{target.slug}` already exists",
                hint=f"see it with `prime env info {target.slug}`",
            )
        create_environment(hub, connection, target, source.visibility)
        made = find_environment(connection, caller, target)
        size = size_of_artifacts(connection, version.id, version.wheel_id)
        require_storage(hub, connection, made, size)
        version_id = _copy_version(hub, connection, source, version, made)
        update_latest(hub, connection, made.id)
        record(hub, connection, caller, "environment.fork", target.slug, source=ref.slug)
    refresh_index(hub)
    return ForkReply(
        success=True,
        message=f"Forked {ref.slug}",
        environment_id=made.id,
        version_id=version_id,
        name=target.name,
        owner=target.owner,
        slug=target.slug,
    )


def _owner(connection: Connection, caller: Caller, request: ForkRequest) -> str:
    if request.team_id:
        return str(find_team(connection, request.team_id).slug)
    return request.team_slug or caller.slug


def _copy_version(
    hub: Hub, connection: Connection, source: Row[Any], version: Row[Any], made: Row[Any]
) -> str:
    origin = {
        "owner": source.owner,
        "name": source.name,
        "environment_id": source.id,
        "version_id": version.id,
        "version": version.semantic_version,
    }
    metadata = metadata_of(version)
    metadata.fork_chain = [*metadata.fork_chain, origin]
    metadata.origin = metadata.fork_chain[0]
    fields = {"environment_id": made.id, "metadata": encode(metadata).decode()}
    sources_id, wheel_id = new_id("ver"), new_id("whl")
    _copy(connection, artifacts, "id", version.wheel_id, {"id": wheel_id, **fields})
    _copy(connection, artifacts, "id", version.id, {"id": sources_id, **fields})
    _copy(connection, wheel_metadata, "wheel_id", version.wheel_id, {"wheel_id": wheel_id})
    copied = {
        "id": sources_id,
        "environment_id": made.id,
        "wheel_id": wheel_id,
        "number": 1,
        "created_at": hub.now(),
        "downloads": 0,
    }
    _copy(connection, versions, "id", version.id, copied)
    for table in (locks, reports):
        _copy(connection, table, "version_id", version.id, {"version_id": sources_id})
    return sources_id


def _copy(
    connection: Connection, table: Table, key: str, value: str, changes: dict[str, Any]
) -> None:
    """Copy the row with that key, if there is one, with changes."""
    row = connection.execute(select(table).where(table.c[key] == value)).mappings().one_or_none()
    if row is not None:
        connection.execute(insert(table).values({**row, **changes}))
