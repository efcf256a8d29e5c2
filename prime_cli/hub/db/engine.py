"""Transactions on the hub's database; failures of the driver as errors of prime."""

import weakref
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, ClassVar

from sqlalchemy import ColumnElement, Connection, Engine, Row, Select, event, func, select
from sqlalchemy.exc import DataError, DBAPIError
from sqlalchemy.exc import IntegrityError as ConstraintFailed
from sqlalchemy.exc import TimeoutError as PoolExhausted

from prime_cli.core.errors import Conflict, PrimeError, Unreachable, UsageError
from prime_cli.wire.queries import PageQuery


class Database(ABC):
    """Transactions on one database, called `name` in messages.

    Failures are raised as Conflict (a constraint is violated), UsageError (a value cannot be
    stored), StorageFailed (it cannot be read or written) or Unreachable (its server does not
    answer). A lost connection is not used again, so the next transaction may succeed.
    """

    begin_reading: ClassVar[str]
    """The statement that begins a read snapshot."""
    begin_adding: ClassVar[str]
    """The statement that begins a write concurrent with others."""
    begin_alone: ClassVar[str]
    """The statement that begins an exclusive write."""
    begin_occupying: ClassVar[str]
    """The statement that begins an exclusive write without time limits."""

    def __init__(self, engine: Engine, name: str) -> None:
        self.engine = engine
        self.name = name
        event.listen(engine, "before_cursor_execute", _refuse_nul)
        weakref.finalize(self, engine.dispose)

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A consistent snapshot, taken by the first statement of the block."""
        with self.errors(), self._connect(self.begin_reading) as connection:
            yield connection

    @contextmanager
    def write(self, *, alone: bool = True) -> Iterator[Connection]:
        """An exclusive transaction, committed at the end of the block.

        It takes its lock at the beginning, so that what the block reads cannot change before it
        writes, and no deadlock is possible. `alone=False` takes none: for blocks that only add
        rows and rely on unique constraints, or that first lock the one row that all blocks of
        their kind lock (`FOR UPDATE`).
        """
        begin = self.begin_alone if alone else self.begin_adding
        with self._turn(), self.errors(), self._connect(begin) as connection:
            yield connection
            connection.commit()

    @contextmanager
    def occupy(self) -> Iterator[Connection]:
        """As `write`, without time limits; all others wait."""
        with self._turn(), self.errors(), self._connect(self.begin_occupying) as connection:
            yield connection
            connection.commit()

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Raise failures of the driver as errors of prime."""
        try:
            yield
        except ConstraintFailed as error:
            raise Conflict(
                "Conflicting concurrent write", hint="run the same command again"
            ) from error
        except (DataError, OverflowError, UnicodeEncodeError) as error:
            raise UsageError("A value cannot be stored in the database") from error
        except PoolExhausted as error:
            busy = Unreachable(
                f"All connections to {self.name} are in use", hint="run the same command again"
            )
            busy.names_places = True
            raise busy from error
        except DBAPIError as error:
            failure = self.failure(error)
            failure.names_places = True
            raise failure from error

    @abstractmethod
    def failure(self, error: DBAPIError) -> PrimeError:
        """The error of prime for one of the driver."""

    def schema_version(self, connection: Connection) -> str | None:
        """The revision in Alembic's table; None if it has none."""
        if not connection.dialect.has_table(connection, "alembic_version"):
            return None
        query = "SELECT version_num FROM alembic_version"
        found: str | None = connection.exec_driver_sql(query).scalar_one_or_none()
        return found

    def _turn(self) -> AbstractContextManager[None]:
        """What a write holds beside its transaction."""
        return nullcontext()

    def _connect(self, begin: str) -> Connection:
        """A connection in a transaction, with a second try if the pool's connection was lost.

        The first failure makes the pool drop all connections of that age. Unlike a ping before
        every transaction, this costs nothing.
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
    """Refuse NUL, which SQLite would store and PostgreSQL cannot.

    JSON stored as text contains it only escaped, as `\\u0000`.
    """
    for row in parameters if many else (parameters,):
        for value in row.values() if isinstance(row, dict) else row:
            if isinstance(value, str) and "\0" in value:
                raise UsageError("Text must not contain NUL characters")


def read_page(
    connection: Connection, wanted: Select[Any], order: ColumnElement[Any], query: PageQuery
) -> tuple[list[Row[Any]], int]:
    """The rows of a page in an order without ties, and how many there are on all pages."""
    every = wanted.with_only_columns(order, maintain_column_froms=True).subquery()
    total = connection.execute(select(func.count()).select_from(every)).scalar_one()
    rows = connection.execute(wanted.order_by(order).offset(query.offset).limit(query.limit)).all()
    return list(rows), total
