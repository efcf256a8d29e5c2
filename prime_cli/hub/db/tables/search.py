"""What the catalogue's search reads: one row for each environment that lists show.

SQLite finds rows through `search`, a full-text index (FTS5) over `listed` that triggers keep;
PostgreSQL through a GIN index on the same column, which is a `tsvector` there. Both get whole
words from `hub.words` and never take a text apart themselves.
"""

from typing import Any

from sqlalchemy import (
    BigInteger,
    Column,
    Dialect,
    ForeignKey,
    Integer,
    String,
    Table,
    Text,
)
from sqlalchemy.types import TypeDecorator, TypeEngine

from prime_cli.hub.db import full_text
from prime_cli.hub.db.tables.base import make_with, metadata


class Tokens(TypeDecorator[list[str]]):
    """A set of words, in no order; none has a space or a quote in it."""

    impl = Text
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        if dialect.name != "postgresql":
            return dialect.type_descriptor(Text())
        # Not imported where SQLite is used: it takes longer than to open the database.
        from sqlalchemy.dialects.postgresql import TSVECTOR

        return dialect.type_descriptor(TSVECTOR())

    def process_bind_param(self, value: list[str] | None, dialect: Dialect) -> str:
        return " ".join(value or [])

    def process_result_value(self, value: Any, dialect: Dialect) -> list[str]:
        # PostgreSQL puts quotes around each.
        return [token.strip("'") for token in str(value).split()]


listed = Table(
    "listed",
    metadata,
    # Goes up with every environment that is listed for the first time, so the newest is highest.
    Column("number", Integer, primary_key=True),
    # Nothing cascades: who deletes an environment takes it from the lists first, tallies included.
    Column("environment_id", ForeignKey("environments.id"), nullable=False, unique=True),
    Column("tokens", Tokens, nullable=False),
)

tallies = Table(
    "tallies",
    metadata,
    Column("token", String, primary_key=True),
    # How many rows of `listed` have the token.
    Column("count", BigInteger, nullable=False),
)

make_with(listed, *full_text.SQLITE, dialect="sqlite")
make_with(listed, *full_text.POSTGRES, dialect="postgresql")
