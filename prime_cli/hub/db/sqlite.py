"""The hub's database in one file: SQLite with a write-ahead log."""

import os
import shutil
import sqlite3
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Any, Literal

from sqlalchemy import Engine, MetaData, create_engine, event
from sqlalchemy.engine import URL
from sqlalchemy.exc import DBAPIError

from prime_cli.core.errors import IntegrityError, PrimeError, StorageFailed, Unreachable
from prime_cli.core.paths import flush_file, make_folder, storage_errors
from prime_cli.hub.db.engine import Database

_BUSY_SECONDS = 30
"""How long to wait for the writers of other processes."""
_QUEUE_SECONDS = 10
"""How long to wait for those of this process."""
_RETRY_SECONDS = 1.0
_LEAST_ROOM = 64 * 1024
"""Bytes of disk below which SQLite's shared memory, 32 KiB at a time, may not fit."""

_KEPT = 16
"""Connections kept open; opening one takes longer than a read."""

_empty: dict[MetaData, bytes] = {}
"""The file of the first new database of this process: creating it takes 25 ms, a copy 1.

A hub creates one and gains nothing. Programs that create many, such as tests and benchmarks, can
share it only here: they open their hubs as `prime` does, below which nothing can be passed in.
"""

Synchronous = Literal["OFF", "NORMAL", "FULL"]


class WriteQueue:
    """The writers of this process, one at a time and in the order in which they came.

    SQLite lets waiting writers poll for its lock with growing pauses, so under load those who have
    waited longest come last.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._guard = threading.Lock()
        self._is_taken = False
        self._waiting: deque[threading.Event] = deque()

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Hold the lock for the block. Raises Unreachable after `seconds` of waiting."""
        self._take()
        try:
            yield
        finally:
            self._pass_on()

    def _take(self) -> None:
        with self._guard:
            if not self._is_taken:
                self._is_taken = True
                return
            mine = threading.Event()
            self._waiting.append(mine)
        if mine.wait(self._seconds):
            return
        with self._guard:
            if mine in self._waiting:
                self._waiting.remove(mine)
                raise Unreachable(
                    f"Other writes kept the hub busy for {self._seconds:g} seconds",
                    hint="run the same command again",
                    retry_after=_RETRY_SECONDS,
                )
        # It was passed on in the meantime.

    def _pass_on(self) -> None:
        with self._guard:
            if self._waiting:
                self._waiting.popleft().set()
            else:
                self._is_taken = False


def connect_reader(database: Database) -> sqlite3.Connection:
    """A connection of the driver itself, for reads of microseconds in an event loop.

    Readers do not wait for writers. Fetch all rows of a statement: an unfinished one keeps its
    snapshot of the database.
    """
    connection = sqlite3.connect(
        database.name, isolation_level=None, check_same_thread=False, timeout=1
    )
    connection.row_factory = sqlite3.Row
    connection.execute("PRAGMA query_only = ON")
    return connection


class SqliteDatabase(Database):
    """Transactions on a SQLite file, where every write is exclusive."""

    begin_reading = "BEGIN"
    begin_adding = begin_alone = begin_occupying = "BEGIN IMMEDIATE"

    def __init__(self, engine: Engine, name: str) -> None:
        super().__init__(engine, name)
        self._queue = WriteQueue(_QUEUE_SECONDS)

    def _turn(self) -> AbstractContextManager[None]:
        return self._queue.turn()

    def failure(self, error: DBAPIError) -> PrimeError:
        return _failure(self.name, error)


def open_sqlite(path: Path, *, synchronous: Synchronous = "NORMAL") -> Database:
    """The SQLite database in the file `path`.

    With NORMAL a commit survives a killed process, and a power cut after the next checkpoint; FULL
    waits for the disk at every commit, OFF never. Connections stay open as long as the Database,
    since closing the last one writes a checkpoint.
    """
    url = URL.create("sqlite", database=str(path))
    engine = create_engine(
        url,
        pool_size=_KEPT,
        # So that as few connections as possible are used.
        pool_use_lifo=True,
        connect_args={"timeout": _BUSY_SECONDS},
        hide_parameters=True,
    )

    def prepare(connection: sqlite3.Connection, _record: Any) -> None:
        # The driver's own transactions begin too late; `Database` begins them.
        connection.isolation_level = None
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute(f"PRAGMA synchronous = {synchronous}")

    event.listen(engine, "connect", prepare)
    return SqliteDatabase(engine, str(path))


def create_sqlite(path: Path, tables: MetaData) -> None:
    """Create a database with `tables` beside `path`, and link it into place.

    Of two concurrent processes one wins, and neither sees an incomplete database.
    """
    make_folder(path.parent)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    with storage_errors(path):
        try:
            temporary.unlink(missing_ok=True)
            if tables in _empty:
                temporary.write_bytes(_empty[tables])
            else:
                _fill(open_sqlite(temporary, synchronous="OFF"), tables)
                _empty[tables] = temporary.read_bytes()
            temporary.chmod(0o600)
            flush_file(temporary)
            _publish(temporary, path)
        finally:
            temporary.unlink(missing_ok=True)


def _fill(database: Database, tables: MetaData) -> None:
    with database.errors():
        _use_write_ahead_log(database)
    with database.write() as connection:
        tables.create_all(connection, checkfirst=False)
    database.engine.dispose()


def _use_write_ahead_log(database: Database) -> None:
    """Let reads proceed during a write; the setting is stored in the file."""
    raw = database.engine.raw_connection()
    try:
        raw.cursor().execute("PRAGMA journal_mode = WAL")
    finally:
        raw.close()


def _publish(temporary: Path, path: Path) -> None:
    try:
        path.hardlink_to(temporary)
    except FileExistsError:
        return
    except OSError:
        # No hard links here; a rename is not safe for two concurrent processes.
        if not path.exists():
            temporary.rename(path)


def _failure(name: str, error: DBAPIError) -> PrimeError:
    reason = str(getattr(error.orig, "sqlite_errorname", ""))
    # Without room for its shared memory SQLite reports an I/O error even when reading.
    if reason.startswith("SQLITE_FULL") or (reason.startswith("SQLITE_IOERR") and _is_full(name)):
        return StorageFailed(
            f"The disk is full: {name} was not written",
            hint="free some space, then run the same command again",
        )
    if reason.startswith(("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM")):
        return StorageFailed(
            f"{name} cannot be written: {error.orig}",
            hint="set PRIME_HOME to a writable folder",
        )
    if reason.startswith("SQLITE_BUSY"):
        return StorageFailed(
            f"{name} has been in use by another process for {_BUSY_SECONDS} seconds",
            hint="wait for the other command to end, then run the same command again",
        )
    if reason.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")):
        return IntegrityError(
            f"{name} is damaged: {error.orig}",
            hint="move the file aside to start with an empty hub",
        )
    return StorageFailed(f"{name} failed: {error.orig}")


def _is_full(name: str) -> bool:
    with suppress(OSError):
        return shutil.disk_usage(Path(name).parent).free < _LEAST_ROOM
    return False
