"""A promise that blobs stay where they are for a while, whoever stops naming them."""

import time

from sqlalchemy import Connection, delete, select, text

from prime_cli.hub.context import Hub
from prime_cli.hub.db.tables import counters

_NAME = "blobs held until"
_HOLD_SECONDS = 3600

_EXTEND = text(
    "INSERT INTO counters (name, value) VALUES (:name, :until) "
    "ON CONFLICT (name) DO UPDATE SET value = excluded.value"
)


def hold_blobs(hub: Hub) -> None:
    """No blob is deleted for an hour from now, by any process; what is left over is garbage then.

    A killed backup can keep garbage for that long, and nothing more.
    """
    until = int(time.time()) + _HOLD_SECONDS
    with hub.database.write() as connection:
        connection.execute(_EXTEND, {"name": _NAME, "until": until})


def release_blobs(hub: Hub) -> None:
    """Blobs may be deleted again."""
    with hub.database.write() as connection:
        connection.execute(delete(counters).where(counters.c.name == _NAME))


def blobs_are_held(connection: Connection) -> bool:
    """Whether blobs must stay; asked in the transaction that would delete some."""
    held = select(counters.c.value).where(counters.c.name == _NAME)
    return int(connection.execute(held).scalar() or 0) > time.time()
