"""Metadata that all tables share, and columns that several have."""

from sqlalchemy import DDL, Column, MetaData, String, Table, event
from sqlalchemy.schema import ExecutableDDLElement

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)


def text(name: str) -> Column[str]:
    """A short text that is always there."""
    return Column(name, String, nullable=False)


def make_with(table: Table, *statements: str, dialect: str | None = None) -> None:
    """Run statements when the table has been made, on one kind of database or on all."""
    for statement in statements:
        made: ExecutableDDLElement = DDL(statement)  # type: ignore[no-untyped-call]
        event.listen(table, "after_create", made.execute_if(dialect=dialect) if dialect else made)
