"""Take-downs by admins of the hub: of an environment, a version, an evaluation, or a user.

An environment that is taken down is private until it is restored, and nothing of it can be read or
changed, by its owner either; everybody who could see it is told why.
"""

from collections.abc import Callable
from typing import Any

from msgspec import Struct
from sqlalchemy import Connection, Row, select, update

from prime_cli.core.errors import NotFound, UsageError
from prime_cli.core.refs import LATEST, EnvRef
from prime_cli.hub.context import Caller, Hub
from prime_cli.hub.db.tables import environments, evaluations, owners, versions
from prime_cli.hub.search_index import reindex
from prime_cli.hub.services.access import PRIVATE, PUBLIC, find_any
from prime_cli.hub.services.audit import raise_serial, record
from prime_cli.hub.services.evaluations.standings import (
    update_shared_standings,
    update_standing,
)
from prime_cli.hub.services.users import find_user, require_accounts, require_admin
from prime_cli.hub.services.versions import select_named, update_latest
from prime_cli.wire.accounts import NewTakedown, Restored, Takedown, TakedownList

_LONGEST_REASON = 1000


class _Place(Struct, frozen=True):
    """What a target names. `reason` is why it is taken down, None if it is not.

    `is_public` is whether everybody sees it while it is not. `put` stores another reason, or None,
    with all that follows from it.
    """

    kind: str
    target: str
    reason: str | None
    is_public: bool
    put: Callable[[str | None], None]


def take_down(hub: Hub, caller: Caller, new: NewTakedown) -> Takedown:
    """Take something down, or change the reason.

    Raises NotAllowed, NotFound, and UsageError for an evaluation that is not public, for oneself
    and for a reason that is empty or too long.
    """
    require_admin(caller)
    require_accounts(hub)
    reason = new.reason.strip()
    if not 0 < len(reason) <= _LONGEST_REASON or not reason.isprintable():
        raise UsageError(f"A take-down needs a reason, in one line of 1 to {_LONGEST_REASON}")
    with hub.database.write() as connection:
        place = _find(hub, connection, new.target)
        if place.kind == "user" and place.target == caller.slug:
            raise UsageError("You cannot suspend yourself", hint="ask another admin")
        place.put(reason)
        record(hub, connection, caller, f"{place.kind}.takedown", place.target, reason=reason)
    return Takedown(place.kind, place.target, reason)


def restore(hub: Hub, caller: Caller, target: str) -> Restored:
    """Undo a take-down; raises NotAllowed, and NotFound for what is not taken down."""
    require_admin(caller)
    require_accounts(hub)
    with hub.database.write() as connection:
        place = _find(hub, connection, target)
        if place.reason is None:
            raise NotFound(
                f"`{place.target}` is not taken down", hint="see `prime hub takedown list`"
            )
        place.put(None)
        record(hub, connection, caller, f"{place.kind}.restore", place.target, was=place.reason)
    return Restored(place.is_public)


def list_takedowns(hub: Hub, caller: Caller) -> TakedownList:
    """All that is taken down, by kind and target; raises NotAllowed."""
    require_admin(caller)
    name = owners.c.slug + "/" + environments.c.name
    of_owner = select(environments).join(owners, environments.c.owner_id == owners.c.id)
    of_version = of_owner.join(versions, versions.c.environment_id == environments.c.id)
    chosen = {
        "environment": of_owner.with_only_columns(name, environments.c.taken_down),
        "version": of_version.with_only_columns(
            name + "@" + versions.c.semantic_version, versions.c.taken_down
        ),
        "evaluation": select(evaluations.c.id, evaluations.c.taken_down),
        "user": select(owners.c.slug, owners.c.suspended),
    }
    found = []
    with hub.database.read() as connection:
        for kind, query in chosen.items():
            target, reason = query.selected_columns
            rows = connection.execute(query.where(reason.is_not(None)).order_by(target))
            found += [Takedown(kind, *row) for row in rows]
    return TakedownList(found)


def _find(hub: Hub, connection: Connection, target: str) -> _Place:
    if "/" in target:
        ref = EnvRef.parse(target)
        environment = find_any(connection, ref.at(None))
        if ref.version is None:
            return _environment(hub, connection, environment)
        return _version(hub, connection, environment, ref.version)
    row = connection.execute(select(evaluations).where(evaluations.c.id == target)).one_or_none()
    if row is not None:
        return _evaluation(connection, row)
    user = find_user(connection, target)

    def put(reason: str | None) -> None:
        its = owners.c.id == user.id
        connection.execute(update(owners).where(its).values(suspended=reason))

    return _Place("user", user.slug, user.suspended, is_public=False, put=put)


def _environment(hub: Hub, connection: Connection, row: Row[Any]) -> _Place:
    was_public = row.visibility == PUBLIC if row.taken_down is None else bool(row.was_public)

    def put(reason: str | None) -> None:
        down = {"visibility": PRIVATE, "was_public": was_public}
        up = {"visibility": PUBLIC if was_public else PRIVATE, "was_public": None}
        values = {"taken_down": reason, "updated_at": hub.now(), **(down if reason else up)}
        connection.execute(update(environments).where(environments.c.id == row.id).values(**values))
        update_shared_standings(connection, row.id)
        reindex(connection, row.id)
        raise_serial(connection, row.id)

    return _Place("environment", f"{row.owner}/{row.name}", row.taken_down, was_public, put)


def _version(hub: Hub, connection: Connection, environment: Row[Any], wanted: str) -> _Place:
    slug = f"{environment.owner}/{environment.name}"
    if wanted == LATEST:
        raise UsageError("Name a version by its number", hint=f"see `prime env versions {slug}`")
    row = select_named(connection, environment, wanted)

    def put(reason: str | None) -> None:
        its = versions.c.id == row.id
        connection.execute(update(versions).where(its).values(taken_down=reason))
        update_latest(hub, connection, environment.id)

    is_public = environment.visibility == PUBLIC
    return _Place("version", f"{slug}@{row.semantic_version}", row.taken_down, is_public, put)


def _evaluation(connection: Connection, row: Row[Any]) -> _Place:
    if row.taken_down is None and not row.is_public:
        raise UsageError(f"The evaluation `{row.id}` is not public")

    def put(reason: str | None) -> None:
        its = evaluations.c.id == row.id
        values = {"taken_down": reason, "is_public": reason is None}
        connection.execute(update(evaluations).where(its).values(**values))
        update_standing(connection, row.id)

    return _Place("evaluation", row.id, row.taken_down, is_public=True, put=put)
