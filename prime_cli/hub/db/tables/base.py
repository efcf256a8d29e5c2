"""Metadata that all tables share, and columns that several have."""

from sqlalchemy import Column, MetaData, String

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
