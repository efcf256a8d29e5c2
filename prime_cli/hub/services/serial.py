"""A number that goes up with every change of what the catalogue or an index shows.

Whatever is kept ready to be answered again is good as long as the number is the same; every
process of a hub reads it from the database.
"""

from sqlalchemy import Connection, select, text

from prime_cli.hub.db.tables import counters

CATALOGUE = "catalogue"

_RAISE = text(
    "INSERT INTO counters (name, value) VALUES (:name, 1) "
    "ON CONFLICT (name) DO UPDATE SET value = counters.value + 1"
)


def raise_serial(connection: Connection) -> None:
    """Say that something changed; part of the transaction that changes it."""
    connection.execute(_RAISE, {"name": CATALOGUE})


def read_serial(connection: Connection) -> int:
    """The number now; 0 on a hub where nothing was ever published."""
    value = connection.execute(select(counters.c.value).where(counters.c.name == CATALOGUE))
    return int(value.scalar() or 0)
