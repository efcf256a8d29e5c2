"""Owners, and which environments a caller may see; private ones do not exist for others."""

import re
from difflib import get_close_matches
from functools import cache
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Row,
    Select,
    bindparam,
    delete,
    insert,
    or_,
    select,
)

from prime_cli.core.errors import Conflict, NotAllowed, NotFound, NotLoggedIn, TakenDown, UsageError
from prime_cli.core.refs import EnvRef, normalize_name
from prime_cli.hub.context import Caller, Hub
from prime_cli.hub.db.tables import environments, former_slugs, owners
from prime_cli.hub.tokens import new_id

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
    """Cached, as every request needs it: building a query takes longer than running it."""
    readable = owners.c.slug.in_(bindparam("read_slugs", expanding=True))
    return select_environments().where(
        owners.c.slug == bindparam("owner_slug"),
        environments.c.normalized_name == bindparam("wanted_name"),
        or_(environments.c.visibility == PUBLIC, readable),
    )


def find_environment(connection: Connection, caller: Caller, ref: EnvRef) -> Row[Any]:
    """The row of `ref`; raises NotFound, with the nearest names as a hint."""
    row = find_visible(connection, caller, ref)
    _require_standing(connection, row, f"`{ref.slug}`", *_named(ref))
    if row is None:
        require_valid_key(caller)
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
    what = f"`{environment_id}`" if row is None else f"`{row.owner}/{row.name}`"
    _require_standing(connection, row, what, environments.c.id == environment_id)
    if row is None:
        require_valid_key(caller)
        raise NotFound(f"Environment `{environment_id}` not found")
    return row


def _named(ref: EnvRef) -> tuple[ColumnElement[bool], ...]:
    """The conditions for the environment of that name, whoever may see it."""
    return owners.c.slug == ref.owner, environments.c.normalized_name == normalize_name(ref.name)


def find_any(connection: Connection, ref: EnvRef) -> Row[Any]:
    """The row of `ref` for an admin of the hub; raises NotFound."""
    row = connection.execute(select_environments().where(*_named(ref))).one_or_none()
    if row is None:
        raise NotFound(f"Environment `{ref.slug}` not found")
    return row


def _require_standing(
    connection: Connection, row: Row[Any] | None, what: str, *wanted: ColumnElement[bool]
) -> None:
    """Raise TakenDown for an environment that is, to those who see it or saw it in public."""
    if row is None:
        public = environments.c.was_public.is_(True)
        row = connection.execute(select_environments().where(*wanted, public)).one_or_none()
    if row is not None and row.taken_down is not None:
        raise taken_down(what, row.taken_down)


def taken_down(what: str, reason: str) -> TakenDown:
    """What everybody is answered who asks for something that was taken down."""
    return TakenDown(
        f"{what} was taken down by an admin of this hub: {reason}",
        hint="ask the hub's admins, if it is yours",
    )


def require_user(caller: Caller) -> None:
    """Raise NotLoggedIn if the caller is unknown, NotAllowed if the user is suspended."""
    require_valid_key(caller)
    if not caller.slug:
        raise NotLoggedIn(
            "This needs an API key", hint="log in with `prime login`, or set PRIME_API_KEY"
        )


def require_valid_key(caller: Caller) -> None:
    """Raise NotLoggedIn for a key that is none, NotAllowed for that of a suspended user.

    Callers without a key pass. Asked before every answer that a valid key could change: what is
    public is shown whatever key comes with the request.
    """
    if caller.suspended is not None:
        raise suspension(caller.suspended)
    if caller.rejected:
        raise NotLoggedIn(
            "The API key is not valid: it is unknown, revoked or expired",
            hint="log in with `prime login`, or set PRIME_API_KEY to another key",
        )


def suspension(reason: str) -> NotAllowed:
    """What a suspended user is answered."""
    return NotAllowed(
        f"This account was suspended by an admin of this hub: {reason}",
        hint="ask the hub's admins",
    )


def require_own(caller: Caller, what: str) -> None:
    """Raise NotLoggedIn, or NotAllowed for a key that is not valid for its user's own things."""
    require_user(caller)
    if caller.slug not in caller.reads:
        limits = ", ".join(f"`{slug}`" for slug in sorted(caller.reads)) or "a team that you left"
        raise NotAllowed(
            f"This key is limited to {limits}; it cannot reach {what}",
            hint="name the team, or use a key without that limit",
        )


def require_unlimited(caller: Caller, what: str) -> None:
    """Raise NotAllowed for a key that is limited to an owner or to publishing."""
    if caller.limited:
        limits = ", ".join(f"`{slug}`" for slug in sorted(caller.reads)) or "a team that you left"
        raise NotAllowed(
            f"This key is limited to {limits}; it cannot change {what}",
            hint="use a key without that limit",
        )


def require_owner(caller: Caller, row: Row[Any]) -> None:
    """Raise NotAllowed unless the caller may change the environment."""
    require_owner_slug(caller, row.owner, f"{row.owner}/{row.name}")


def require_publisher(caller: Caller, owner: str, name: str) -> None:
    """Raise NotAllowed unless the caller may publish versions of that environment."""
    if caller.publishes.isdisjoint((f"{owner}/{normalize_name(name)}", f"{owner}/*")):
        require_owner_slug(caller, owner, f"{owner}/{name}")


def require_owner_slug(caller: Caller, owner: str, what: str) -> None:
    """Raise NotLoggedIn or NotAllowed unless `caller` may write data of `owner`."""
    require_user(caller)
    if owner in caller.writes:
        return
    if caller.publishes:
        allowed = ", ".join(f"`{each}`" for each in sorted(caller.publishes))
        raise NotAllowed(f"The key of this job may only publish {allowed}")
    if owner in caller.reads:
        raise NotAllowed(
            f"This key may not write to `{what}`", hint="use a key with the scope `write`"
        )
    raise NotAllowed(
        f"`{caller.slug}` may not write to `{what}`",
        hint=f"it belongs to `{owner}`; publish your own as `{caller.slug}/…`, or set the owner "
        "with PRIME_OWNER",
    )


def _nearest(connection: Connection, caller: Caller, ref: EnvRef) -> str | None:
    """A few names that may have been meant: always the same number of queries, whatever exists."""
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
    """The first `owner/name` of all that match and have a version, by name."""
    rows = connection.execute(
        select(owners.c.slug, environments.c.name)
        .join(owners, environments.c.owner_id == owners.c.id)
        .where(*wanted, environments.c.latest_version_id.is_not(None))
        .order_by(environments.c.normalized_name, environments.c.id)
        .limit(_MOST_COMPARED)
    )
    return [f"{row.slug}/{row.name}" for row in rows]


# --- Users and teams as owners, and what they may be called ---

# --- Owners ---

USER = "user"
TEAM = "team"
UPSTREAM = "upstream"


def find_owner(connection: Connection, slug: str) -> Row[Any] | None:
    """The row of an owner, or None."""
    return connection.execute(select(owners).where(owners.c.slug == slug)).one_or_none()


def find_team(connection: Connection, team_id: str) -> Row[Any]:
    """The row of a team by its id or slug; raises NotFound."""
    row = connection.execute(
        select(owners).where(
            owners.c.type == TEAM, (owners.c.id == team_id) | (owners.c.slug == team_id)
        )
    ).first()
    if row is None:
        raise _no_team(team_id)
    return row


def find_own_team(connection: Connection, caller: Caller, team_id: str) -> Row[Any]:
    """As `find_team`; a team outside the key's scope is not found either."""
    row = find_team(connection, team_id)
    if row.slug not in caller.reads:
        raise _no_team(team_id)
    return row


def owner_id(hub: Hub, connection: Connection, slug: str) -> str:
    """The id of the owner `slug`; without accounts, created on its first publication.

    Raises NotFound.
    """
    row = find_owner(connection, slug)
    if row is not None:
        return str(row.id)
    if hub.settings.accounts:
        raise NotFound(f"No user or team `{slug}` on this hub")
    made = new_id(USER)
    connection.execute(insert(owners).values(id=made, slug=slug, type=USER, created_at=hub.now()))
    return made


def _no_team(team_id: str) -> NotFound:
    return NotFound(f"Team `{team_id[:80]}` not found", hint="list yours with `prime teams list`")


# --- Names ---

_SLUG = re.compile(r"[a-z0-9][a-z0-9-]{1,28}[a-z0-9]")
_TEAM_ID = re.compile(r"c[a-z0-9]{24}")
_LONGEST_LABEL = 100
_EMAIL = re.compile(r"[^\s@<>]{1,64}@[^\s@<>]{1,190}")

RESERVED = frozenset(
    """
    about account accounts api assets audit auth builtin cli dashboard docs environments
    environmentshub evals evaluations explore favicon files gateway healthz help hub invitations
    join login logout metrics new openapi prime readyz redoc robots root sandbox sandboxes search
    settings simple starter static status system teams tokens upload uploads users web well-known
    www
    """.split()
)
"""First path segments of a hub, now or likely later, and misleading names."""


def check_slug(slug: str) -> None:
    """Raise UsageError unless `slug` may be the name of a user or team.

    Official clients require 3 to 30 of `[a-z0-9-]`; an owner in `owner/name` also begins and ends
    with a letter or digit, and anything shaped like a team's id would be read as one.
    """
    if not _SLUG.fullmatch(slug):
        raise UsageError(
            f"`{slug[:80]}` cannot be the name of a user or team",
            hint="write 3 to 30 of a-z, 0-9 and `-`, with no `-` at either end",
        )
    if slug in RESERVED or _TEAM_ID.fullmatch(slug):
        raise UsageError(f"`{slug}` is reserved", hint="choose another name")


def require_free(connection: Connection, slug: str, *, owner_id: str | None, admin: bool) -> None:
    """Raise Conflict if another owner has or had that slug.

    Installers of `ada/words` must not get it from another ada: an abandoned slug stays with its
    owner, and after a removal only an admin may give it away again. The official client looks for
    the words "already taken".
    """
    if connection.execute(select(owners.c.id).where(owners.c.slug == slug)).first() is not None:
        raise Conflict(f"`{slug}` is already taken", hint="choose another name")
    former = connection.execute(
        select(former_slugs.c.owner_id).where(former_slugs.c.slug == slug)
    ).first()
    if former is None or (owner_id is not None and former.owner_id == owner_id):
        return
    if former.owner_id is not None or not admin:
        raise Conflict(
            f"`{slug}` is already taken: it used to be someone else's name", hint="choose another"
        )


def retire_slug(connection: Connection, owner: Any, *, becomes: str | None = None) -> None:
    """Reserve the slug of the row `owner`, and release `becomes` if it was reserved."""
    connection.execute(delete(former_slugs).where(former_slugs.c.slug.in_([owner.slug, becomes])))
    connection.execute(former_slugs.insert().values(slug=owner.slug, owner_id=owner.id))


def check_label(text: str, what: str) -> str:
    """`text` stripped, for display to people; raises UsageError."""
    text = text.strip()
    if len(text) > _LONGEST_LABEL or not text.isprintable():
        raise UsageError(
            f"The {what} must have at most {_LONGEST_LABEL} characters, none of them for control"
        )
    return text


def check_email(text: str) -> str:
    """An e-mail address, checked by its form only; raises UsageError."""
    if not _EMAIL.fullmatch(text):
        raise UsageError(f"`{text[:80]}` is not an e-mail address")
    return text
