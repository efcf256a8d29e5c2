"""A serial that increases with every change of the catalog or an index.

Whatever is kept ready to be answered again is good as long as the number is the same; every
process of a hub reads it from the database. What is about one environment, or one owner, is good
even longer: as long as the number that stands in its own row, and that of all together.
"""

from sqlalchemy import Connection, select, text, update

from prime_cli.hub.db.tables import counters, environments, owners

CATALOGUE = "catalogue"
EVERYTHING = "everything"

_RAISE = text(
    "INSERT INTO counters (name, value) VALUES (:name, 1) "
    "ON CONFLICT (name) DO UPDATE SET value = counters.value + 1 RETURNING value"
)
_SET = text(
    "INSERT INTO counters (name, value) VALUES (:name, :value) "
    "ON CONFLICT (name) DO UPDATE SET value = :value"
)


def raise_serial(connection: Connection, environment_id: str | None = None) -> None:
    """Say that something changed; part of the transaction that changes it.

    With an `environment_id`, what changed is seen on pages about that environment and its owner
    alone. The row must still be there.
    """
    value = connection.execute(_RAISE, {"name": CATALOGUE}).scalar_one()
    if environment_id is None:
        connection.execute(_SET, {"name": EVERYTHING, "value": value})
        return
    changed = environments.c.id == environment_id
    connection.execute(update(environments).where(changed).values(serial=value))
    owner = select(environments.c.owner_id).where(changed).scalar_subquery()
    connection.execute(update(owners).where(owners.c.id == owner).values(serial=value))


def read_serial(connection: Connection) -> int:
    """The number now; 0 on a hub where nothing was ever published."""
    value = connection.execute(select(counters.c.value).where(counters.c.name == CATALOGUE))
    return int(value.scalar() or 0)
