"""The SQL statements of all hubs of a test process, compiled once.

SQLAlchemy keeps what it has compiled for one engine, and every test has an engine of its own: a
third of the time of the hub's tests was the compiling of the same statements. The dialects here are
SQLAlchemy's, except that two of them are equal, and that their engines share one cache.
"""

from sqlalchemy import Engine
from sqlalchemy.dialects import registry
from sqlalchemy.dialects.postgresql.psycopg import PGDialect_psycopg
from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite
from sqlalchemy.util import LRUCache

_compiled: LRUCache[object, object] = LRUCache(2000)


class _SameForAll:
    """Equal to every other dialect of its class: the cache's keys contain the dialect."""

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other)

    def __hash__(self) -> int:
        return hash(type(self))

    @classmethod
    def engine_created(cls, engine: Engine) -> None:
        engine.update_execution_options(compiled_cache=_compiled)


class SharedSqlite(_SameForAll, SQLiteDialect_pysqlite):
    supports_statement_cache = True


class SharedPostgres(_SameForAll, PGDialect_psycopg):
    supports_statement_cache = True


def share_statements() -> None:
    """Let every engine that is made from now on take these dialects."""
    registry.register("sqlite", __name__, "SharedSqlite")
    registry.register("postgresql.psycopg", __name__, "SharedPostgres")
