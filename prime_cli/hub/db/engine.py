"""Connections to the hub's database, and its failures as ours."""

import shutil
import sqlite3
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Literal

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import URL
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import IntegrityError as ConstraintFailed

from prime_cli.core.errors import Conflict, IntegrityError, PrimeError, StorageFailed

_BUSY_SECONDS = 30
_WRITE = "prime_write"
_LEAST_ROOM = 64 * 1024
"""Bytes of disk below which SQLite's shared memory, 32 KiB at a time, may not fit."""

Synchronous = Literal["OFF", "NORMAL", "FULL"]


class Database:
    """Transactions on one database; `name` is what messages call it."""

    def __init__(self, engine: Engine, name: str) -> None:
        self.engine = engine
        self.name = name

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """One consistent view; raises StorageFailed when the database cannot be read."""
        with database_errors(self.name), self.engine.connect() as connection:
            yield connection

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """A transaction that is alone from its start, committed at the end of the block.

        Taking the lock first means that what the block reads cannot change before it writes.
        Raises StorageFailed, or Conflict when a unique constraint does not hold.
        """
        with database_errors(self.name), self.engine.connect() as plain:
            connection = plain.execution_options(**{_WRITE: True})
            with connection.begin():
                yield connection


def open_sqlite(path: Path, *, synchronous: Synchronous = "NORMAL") -> Database:
    """The SQLite database in the file `path`.

    With NORMAL, what is committed outlives a killed process at once and a power cut after the
    next checkpoint; FULL waits for the disk at every commit; OFF never does. The connection stays
    open as long as the Database, since the last one that closes writes a checkpoint.
    """
    url = URL.create("sqlite", database=str(path))
    engine = create_engine(url, pool_size=1, connect_args={"timeout": _BUSY_SECONDS})

    def prepare(connection: sqlite3.Connection, _record: Any) -> None:
        # The driver's own transactions begin too late; `_begin_sqlite` begins ours.
        connection.isolation_level = None
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute(f"PRAGMA synchronous = {synchronous}")

    event.listen(engine, "connect", prepare)
    event.listen(engine, "begin", _begin_sqlite)
    database = Database(engine, str(path))
    weakref.finalize(database, engine.dispose)
    return database


@contextmanager
def database_errors(name: str) -> Iterator[None]:
    """Turn what the driver raises into StorageFailed, IntegrityError or Conflict."""
    try:
        yield
    except ConstraintFailed as error:
        raise Conflict(
            "Somebody else has just written the same", hint="run the same command again"
        ) from error
    except DBAPIError as error:
        raise _failure(name, error) from error


def _begin_sqlite(connection: Connection) -> None:
    write = connection.get_execution_options().get(_WRITE, False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if write else "BEGIN")


def _failure(name: str, error: DBAPIError) -> PrimeError:
    reason = str(getattr(error.orig, "sqlite_errorname", ""))
    # Without room for its shared memory SQLite cannot even read, and calls that an I/O error.
    if reason.startswith("SQLITE_FULL") or (reason.startswith("SQLITE_IOERR") and _is_full(name)):
        return StorageFailed(
            f"The disk is full: {name} was not written",
            hint="free some space, then run the same command again",
        )
    if reason.startswith(("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM")):
        return StorageFailed(
            f"{name} cannot be written: {error.orig}",
            hint="set PRIME_HOME to a folder that can be written",
        )
    if reason.startswith("SQLITE_BUSY"):
        return StorageFailed(
            f"{name} has been in use by another process for {_BUSY_SECONDS} seconds",
            hint="wait for the other command to end, then run the same command again",
        )
    if reason.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")):
        return IntegrityError(
            f"{name} is damaged: {error.orig}",
            hint="move the file away; the hub then starts empty",
        )
    return StorageFailed(f"{name} failed: {error.orig}")


def _is_full(name: str) -> bool:
    with suppress(OSError):
        return shutil.disk_usage(Path(name).parent).free < _LEAST_ROOM
    return False
