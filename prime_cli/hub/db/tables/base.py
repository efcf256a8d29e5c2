"""The metadata that all tables share, and columns that several have."""

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
    """A required short text."""
    return Column(name, String, nullable=False)


def after_create(table: Table, *statements: str, dialect: str | None = None) -> None:
    """Run statements after the table is created, on one dialect or on all."""
    for statement in statements:
        ddl: ExecutableDDLElement = DDL(statement)  # type: ignore[no-untyped-call]
        event.listen(table, "after_create", ddl.execute_if(dialect=dialect) if dialect else ddl)
