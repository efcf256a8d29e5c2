"""Users and teams as owners, and what they may be called."""

import re
from typing import Any

from sqlalchemy import Connection, Row, delete, insert, select

from prime_cli.core.errors import Conflict, NotFound, UsageError
from prime_cli.hub.context import Caller, Hub
from prime_cli.hub.db.tables import former_slugs, owners
from prime_cli.hub.tokens import new_id

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
    """As `find_team`; a team that the key is not good for is not found either."""
    row = find_team(connection, team_id)
    if row.slug not in caller.reads:
        raise _no_team(team_id)
    return row


def owner_id(hub: Hub, connection: Connection, slug: str) -> str:
    """The id of the owner `slug`; without accounts, one that publishes for the first time is made.

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
    environmentshub evaluations evals explore favicon files healthz help hub login logout
    metrics new openapi prime readyz redoc robots root search settings simple starter static
    status system teams tokens upload uploads users web well-known www
    """.split()
)
"""First parts of addresses of a hub, now or likely later, and names that would mislead."""


def check_slug(slug: str) -> None:
    """Raise UsageError unless `slug` may be the name of a user or team.

    Official clients ask for 3 to 30 of `[a-z0-9-]`; an owner in `owner/name` also begins and ends
    with a letter or digit, and what has the form of a team's id would be read as one.
    """
    if not _SLUG.fullmatch(slug):
        raise UsageError(
            f"`{slug[:80]}` cannot be the name of a user or team",
            hint="write 3 to 30 of a-z, 0-9 and `-`, with no `-` at either end",
        )
    if slug in RESERVED or _TEAM_ID.fullmatch(slug):
        raise UsageError(f"`{slug}` is reserved", hint="choose another name")


def require_free(connection: Connection, slug: str, *, owner_id: str | None, admin: bool) -> None:
    """Raise Conflict when somebody else has that slug, or has had it.

    Whoever installs `ada/words` must not get it from another ada: a slug that was given up stays
    with its owner, and after a removal only an admin may give it away again. The official client
    looks for the words "already taken".
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
    """Keep the slug of the row `owner` from others, and take `becomes` out of those kept."""
    connection.execute(delete(former_slugs).where(former_slugs.c.slug.in_([owner.slug, becomes])))
    connection.execute(former_slugs.insert().values(slug=owner.slug, owner_id=owner.id))


def check_label(text: str, what: str) -> str:
    """`text` without blanks around it, to be shown to people; raises UsageError."""
    text = text.strip()
    if len(text) > _LONGEST_LABEL or not text.isprintable():
        raise UsageError(
            f"The {what} must have at most {_LONGEST_LABEL} characters, none of them for control"
        )
    return text


def check_email(text: str) -> str:
    """An e-mail address by its form alone; raises UsageError."""
    if not _EMAIL.fullmatch(text):
        raise UsageError(f"`{text[:80]}` is not an e-mail address")
    return text
