"""Schema 3: lists and search that stay fast with a million environments."""

from alembic.operations import Operations
from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ForeignKeyConstraint,
    Integer,
    PrimaryKeyConstraint,
    Text,
    UniqueConstraint,
)
from sqlalchemy import (
    text as sql,
)
from sqlalchemy.dialects.postgresql import TSVECTOR

from prime_cli.hub.db import indexes
from prime_cli.hub.db.indexes import ARTIFACTS, order_indexes
from prime_cli.hub.db.migrations.columns import text
from prime_cli.hub.search_index import reindex_all

_ORDERS = ("normalized_name", "created_at", "updated_at", "stars")


def upgrade(op: Operations) -> None:
    """From schema 2; what is published is put into the lists and the search."""
    _index_what_is_walked(op)
    _index_what_is_looked_up(op)
    _mark_published(op)
    _create_search(op)
    reindex_all(op.get_bind(), knows_kinds=False)


def _index_what_is_walked(op: Operations) -> None:
    op.add_column("environments", Column("stars", Integer, nullable=False, server_default=sql("0")))
    op.execute(
        "UPDATE environments SET stars ="
        " (SELECT count(*) FROM stars WHERE stars.environment_id = environments.id)"
    )
    for statement in order_indexes(_ORDERS).values():
        op.execute(statement)


def _index_what_is_looked_up(op: Operations) -> None:
    for table, column in (
        ("versions", "wheel_id"),
        ("stars", "environment_id"),
        ("uploads", "artifact_id"),
        ("uploads", "expires_at"),
        ("secret_links", "environment_id"),
    ):
        op.create_index(f"ix_{table}_{column}", table, [column])


def _mark_published(op: Operations) -> None:
    op.add_column(
        "artifacts", Column("published", Boolean, nullable=False, server_default=sql("false"))
    )
    for column in ("id", "wheel_id"):
        op.execute(
            f"UPDATE artifacts SET published = true WHERE id IN (SELECT {column} FROM versions)"  # noqa: S608
        )
    for statement in ARTIFACTS.values():
        op.execute(statement)


def _create_search(op: Operations) -> None:
    postgres = op.get_bind().dialect.name == "postgresql"
    op.create_table(
        "listed",
        Column("number", Integer, nullable=False),
        text("environment_id"),
        Column("tokens", TSVECTOR if postgres else Text, nullable=False),
        PrimaryKeyConstraint("number", name="pk_listed"),
        ForeignKeyConstraint(
            ["environment_id"], ["environments.id"], name="fk_listed_environment_id"
        ),
        UniqueConstraint("environment_id", name="uq_listed_environment_id"),
    )
    op.create_table(
        "tallies",
        text("token"),
        Column("count", BigInteger, nullable=False),
        PrimaryKeyConstraint("token", name="pk_tallies"),
    )
    for statement in indexes.POSTGRES if postgres else indexes.SQLITE:
        op.execute(statement)
