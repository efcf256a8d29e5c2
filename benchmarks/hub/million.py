"""Fill a hub's database with as many environments as wanted, for measurements.

    python benchmarks/hub/million.py 1000000 --data DIR
    python benchmarks/hub/million.py 1000000 --data DIR --database postgresql://user@127.0.0.1/hub

The hub must be empty. It gets environments with versions, tags, stars and texts by Zipf's law, 5 %
of them private and 1 % without a version, and no blobs: lists, details and index pages answer,
downloads do not. The first owner is `ada`; `open_hub(HubSettings(data=DIR, owner="ada"))` then
serves it. From a program: `fill(hub.database, count)`. A million take minutes and about 5 GB.
"""

import argparse
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Table

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.hub.invented import World
from prime_cli.hub.context import open_hub
from prime_cli.hub.db import tables
from prime_cli.hub.db.engine import Database
from prime_cli.hub.db.indexes import ARTIFACTS, ENVIRONMENTS
from prime_cli.hub.search_index import reindex_all
from prime_cli.hub.settings import HubSettings


def main() -> None:
    parser = argparse.ArgumentParser(description="Fill a hub's database.")
    parser.add_argument("count", type=int)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--database")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    hub = open_hub(HubSettings(data=args.data, owner="ada", database=args.database))
    start = time.perf_counter()
    fill(hub.database, args.count, seed=args.seed)
    print(f"{args.count} environments in {time.perf_counter() - start:.0f} s")


def fill(database: Database, count: int, *, seed: int = 1) -> None:
    """Write `count` invented environments into an empty database."""
    world = World(count, seed)
    with database.occupy() as connection:
        if connection.dialect.name == "sqlite":
            connection.exec_driver_sql("PRAGMA cache_size = -1000000")
        with _without_indexes(connection):
            _write(connection, tables.owners, world.owners)
            for batch in world.batches():
                for name in ("environments", "artifacts", "versions", "tags", "stars"):
                    _write(connection, tables.metadata.tables[name], batch[name])
            reindex_all(connection)
    if database.engine.dialect.name == "postgresql":
        # As the server does by itself some time after so much was written.
        raw = database.engine.raw_connection()
        raw.cursor().execute("VACUUM ANALYZE")
        raw.close()


@contextmanager
def _without_indexes(connection: Connection) -> Iterator[None]:
    """Take the indexes away while much is written, which is faster than to keep them."""
    indexes = [index for table in tables.metadata.tables.values() for index in table.indexes]
    for index in indexes:
        index.drop(connection, checkfirst=True)
    for name in (partial := ENVIRONMENTS | ARTIFACTS):
        connection.exec_driver_sql(f"DROP INDEX {name}")
    yield
    for index in indexes:
        index.create(connection)
    for statement in partial.values():
        connection.exec_driver_sql(statement)


def _write(connection: Connection, table: Table, rows: list[dict[str, Any]]) -> None:
    if not rows:
        return
    columns = list(rows[0])
    into = f"{table.name} ({', '.join(columns)})"
    driver: Any = connection.connection.driver_connection
    if connection.dialect.name == "sqlite":
        values = ", ".join(f":{column}" for column in columns)
        driver.executemany(f"INSERT INTO {into} VALUES ({values})", rows)
        return
    with driver.cursor().copy(f"COPY {into} FROM STDIN") as copy:
        for row in rows:
            copy.write_row([row[column] for column in columns])


if __name__ == "__main__":
    main()
