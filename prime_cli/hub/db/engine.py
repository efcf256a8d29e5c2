"""Transactions on the hub's database, and its failures as ours."""

import weakref
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

from sqlalchemy import Connection, Engine, event
from sqlalchemy.exc import DataError, DBAPIError
from sqlalchemy.exc import IntegrityError as ConstraintFailed
from sqlalchemy.exc import TimeoutError as PoolExhausted

from prime_cli.core.errors import Conflict, PrimeError, Unreachable, UsageError


class Database(ABC):
    """Transactions on one database; `name` is what messages call it.

    A failure of the database is raised as one of ours: Conflict when a unique constraint does not
    hold, UsageError for a value that no database can keep, StorageFailed when it cannot be read or
    written, Unreachable when its server does not answer. The next transaction finds its own way:
    no connection that was lost is ever used again.
    """

    begin_reading: ClassVar[str]
    """The statement that starts one consistent view."""
    begin_adding: ClassVar[str]
    """The statement that starts a transaction beside others that write."""
    begin_alone: ClassVar[str]
    """The statement that waits for others that write, and keeps them waiting."""
    begin_occupying: ClassVar[str]
    """The same, however long it takes."""

    def __init__(self, engine: Engine, name: str) -> None:
        self.engine = engine
        self.name = name
        event.listen(engine, "before_cursor_execute", _refuse_nul)
        weakref.finalize(self, engine.dispose)

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """One consistent view, as the database is when the block first looks."""
        with self.errors(), self._connect(self.begin_reading) as connection:
            yield connection

    @contextmanager
    def write(self, *, alone: bool = True) -> Iterator[Connection]:
        """A transaction that is alone from its start, committed at the end of the block.

        Taking the lock first means that what the block reads cannot change before it writes, and
        that no two blocks can wait for each other. `alone=False` goes without, for blocks that
        only add rows and leave it to unique constraints to refuse what is there, or that begin by
        locking the one row that all others of their kind lock too (`FOR UPDATE`).
        """
        begin = self.begin_alone if alone else self.begin_adding
        with self.errors(), self._connect(begin) as connection:
            yield connection
            connection.commit()

    @contextmanager
    def occupy(self) -> Iterator[Connection]:
        """As `write`, without a limit on how long it waits, works or rests: all others wait."""
        with self.errors(), self._connect(self.begin_occupying) as connection:
            yield connection
            connection.commit()

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Turn what the driver raises into an error of ours."""
        try:
            yield
        except ConstraintFailed as error:
            raise Conflict(
                "Conflicting concurrent write", hint="run the same command again"
            ) from error
        except (DataError, OverflowError, UnicodeEncodeError) as error:
            raise UsageError("A value cannot be stored in the database") from error
        except PoolExhausted as error:
            raise Unreachable(
                f"All connections to {self.name} are in use", hint="run the same command again"
            ) from error
        except DBAPIError as error:
            raise self.failure(error) from error

    @abstractmethod
    def failure(self, error: DBAPIError) -> PrimeError:
        """What an error of the driver means to whoever asked."""

    @abstractmethod
    def schema_number(self, connection: Connection) -> int:
        """The schema that the database says it has; 0 when it is empty."""

    @abstractmethod
    def stamp(self, connection: Connection, number: int) -> None:
        """Write the schema number; part of the transaction."""

    def _connect(self, begin: str) -> Connection:
        """A connection in a transaction; the second try is for one that was lost in the pool.

        Nothing has happened on it by then, and the first failure has made the pool forget all
        others of its age, so this costs nothing where a ping before every transaction would.
        """
        connection = self.engine.connect()
        try:
            connection.exec_driver_sql(begin)
        except DBAPIError as error:
            connection.close()
            if not error.connection_invalidated:
                raise
        else:
            return connection
        connection = self.engine.connect()
        connection.exec_driver_sql(begin)
        return connection


def _refuse_nul(
    _connection: Connection,
    _cursor: Any,
    _statement: str,
    parameters: Any,
    _context: Any,
    many: bool,  # noqa: FBT001 - the signature is SQLAlchemy's
) -> None:
    """Refuse what SQLite would keep and PostgreSQL cannot, in the one place that all texts pass.

    In JSON that is kept as text the character is written `\\u0000`, and may stay.
    """
    for row in parameters if many else (parameters,):
        for value in row.values() if isinstance(row, dict) else row:
            if isinstance(value, str) and "\0" in value:
                raise UsageError("Text must not contain NUL characters")
