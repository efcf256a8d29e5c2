"""Which environments a caller may see and change. Private ones do not exist for others."""

from difflib import get_close_matches
from functools import cache
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, Select, bindparam, or_, select

from prime_cli.core.errors import NotAllowed, NotFound, NotLoggedIn, UsageError
from prime_cli.core.refs import EnvRef, normalize_name
from prime_cli.hub.context import Caller
from prime_cli.hub.db.tables import environments, owners

PUBLIC = "PUBLIC"
PRIVATE = "PRIVATE"

_MOST_NAMED = 3
_MOST_COMPARED = 60
_SAME_BEGINNING = 2


@cache
def select_environments() -> Select[Any]:
    """Rows of `environments` with `owner` (slug) and `owner_type`."""
    return select(
        environments, owners.c.slug.label("owner"), owners.c.type.label("owner_type")
    ).join(owners, environments.c.owner_id == owners.c.id)


def visible_to(caller: Caller) -> ColumnElement[bool]:
    """The condition under which a caller sees an environment."""
    return or_(environments.c.visibility == PUBLIC, owners.c.slug.in_(caller.reads))


def read_visibility(text: str | None) -> str | None:
    """`PUBLIC`, `PRIVATE` or None, in any case; raises UsageError."""
    visibility = text.upper() if text else None
    if visibility not in (None, PUBLIC, PRIVATE):
        raise UsageError(f"`{text}` is not a visibility", hint="write PUBLIC or PRIVATE")
    return visibility


def find_visible(connection: Connection, caller: Caller, ref: EnvRef) -> Row[Any] | None:
    """The row of `ref`, or None."""
    values = {
        "owner_slug": ref.owner,
        "wanted_name": normalize_name(ref.name),
        "read_slugs": sorted(caller.reads),
    }
    return connection.execute(_select_one_visible(), values).one_or_none()


@cache
def _select_one_visible() -> Select[Any]:
    """Made once, as every request asks it: to put a query together takes longer than to run it."""
    readable = owners.c.slug.in_(bindparam("read_slugs", expanding=True))
    return select_environments().where(
        owners.c.slug == bindparam("owner_slug"),
        environments.c.normalized_name == bindparam("wanted_name"),
        or_(environments.c.visibility == PUBLIC, readable),
    )


def find_environment(connection: Connection, caller: Caller, ref: EnvRef) -> Row[Any]:
    """The row of `ref`; raises NotFound, with the nearest names as hint."""
    row = find_visible(connection, caller, ref)
    if row is None:
        raise NotFound(
            f"Environment `{ref.slug}` not found", hint=_nearest(connection, caller, ref)
        )
    return row


def find_by_id(connection: Connection, caller: Caller, environment_id: str) -> Row[Any]:
    """The row of an id, or of `owner/name`; raises NotFound."""
    if "/" in environment_id:
        return find_environment(connection, caller, EnvRef.parse(environment_id))
    row = connection.execute(
        select_environments().where(environments.c.id == environment_id, visible_to(caller))
    ).one_or_none()
    if row is None:
        raise NotFound(f"Environment `{environment_id}` not found")
    return row


def require_user(caller: Caller) -> None:
    """Raise NotLoggedIn when nobody known asks."""
    if not caller.slug:
        raise NotLoggedIn(
            "This needs an API key", hint="log in with `prime login`, or set PRIME_API_KEY"
        )


def require_owner(caller: Caller, row: Row[Any]) -> None:
    """Raise NotAllowed unless the caller may change the environment."""
    require_owner_slug(caller, row.owner, f"{row.owner}/{row.name}")


def require_owner_slug(caller: Caller, owner: str, what: str) -> None:
    """Raise NotLoggedIn or NotAllowed unless `caller` may write what belongs to `owner`."""
    require_user(caller)
    if owner in caller.writes:
        return
    if owner in caller.reads:
        raise NotAllowed(
            f"This key may not write to `{what}`", hint="use a key with the scope `write`"
        )
    raise NotAllowed(
        f"`{caller.slug}` may not write to `{what}`",
        hint=f"publish it as `{caller.slug}/…`, or set the owner with PRIME_OWNER",
    )


def _nearest(connection: Connection, caller: Caller, ref: EnvRef) -> str | None:
    """A few names that may have been meant: as many queries, whatever is there and seen or not."""
    name = normalize_name(ref.name)
    public = environments.c.visibility == PUBLIC
    same = environments.c.normalized_name == name
    mine = owners.c.slug.in_(caller.reads)
    namesakes = {*_slugs(connection, public, same), *_slugs(connection, mine, same)}
    begun = name[:_SAME_BEGINNING]
    alike = environments.c.normalized_name.between(begun, f"{begun}\U0010ffff")
    of_owner = (
        [owners.c.slug == ref.owner]
        if ref.owner in caller.reads
        else [owners.c.slug == ref.owner, public]
    )
    near = {
        *_slugs(connection, *of_owner),
        *_slugs(connection, *of_owner, alike),
        *_slugs(connection, public, alike),
    }
    found = sorted(namesakes)[:_MOST_NAMED] or get_close_matches(
        ref.slug, sorted(near), n=_MOST_NAMED
    )
    return f"did you mean {' or '.join(f'`{slug}`' for slug in found)}?" if found else None


def _slugs(connection: Connection, *wanted: ColumnElement[bool]) -> list[str]:
    """The first `owner/name` of all that are wanted and have a version, in the order of names."""
    rows = connection.execute(
        select(owners.c.slug, environments.c.name)
        .join(owners, environments.c.owner_id == owners.c.id)
        .where(*wanted, environments.c.latest_version_id.is_not(None))
        .order_by(environments.c.normalized_name, environments.c.id)
        .limit(_MOST_COMPARED)
    )
    return [f"{row.slug}/{row.name}" for row in rows]
