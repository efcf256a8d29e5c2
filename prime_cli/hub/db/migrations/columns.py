"""Columns and constraints that migration steps spell again and again."""

from sqlalchemy import Column, ForeignKeyConstraint, String


def text(name: str) -> Column[str]:
    """A short text that is always there."""
    return Column(name, String, nullable=False)


def owned_by(table: str, column: str, target: str) -> ForeignKeyConstraint:
    """A reference that takes the row away with its target."""
    return ForeignKeyConstraint([column], [target], name=f"fk_{table}_{column}", ondelete="CASCADE")
