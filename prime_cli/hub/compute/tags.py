"""Tags: what everything that a hub has made is known by, wherever it was made."""

import secrets

from sqlalchemy import insert, select
from sqlalchemy.exc import IntegrityError as RowIsThere

from prime_cli.hub.context import Hub
from prime_cli.hub.db.tables import counters

_COUNTER = "hub"
_LENGTH = 12


def tag_of(prefix: str, thing_id: str) -> str:
    """`prime-1a2b3c4d-` and the first digits of an id: a name for hosts, users and clusters."""
    return f"{prefix}{thing_id[:_LENGTH]}"


def tag_prefix(hub: Hub) -> str:
    """What all tags of this hub, and of no other, begin with: a number that it drew once."""
    with hub.database.read() as connection:
        drawn = connection.execute(select(counters.c.value).where(counters.c.name == _COUNTER))
        number = drawn.scalar()
    return f"prime-{number if number is not None else _draw(hub):08x}-"


def _draw(hub: Hub) -> int:
    number = secrets.randbits(32)
    try:
        with hub.database.write() as connection:
            connection.execute(insert(counters).values(name=_COUNTER, value=number))
    except RowIsThere:
        with hub.database.read() as connection:
            drawn = connection.execute(select(counters.c.value).where(counters.c.name == _COUNTER))
            return int(drawn.scalar_one())
    return number
