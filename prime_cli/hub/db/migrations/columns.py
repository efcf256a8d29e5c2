"""Columns and constraints that several migrations use."""

from sqlalchemy import Column, ForeignKeyConstraint, String


def text(name: str) -> Column[str]:
    """A required short text."""
    return Column(name, String, nullable=False)


def owned_by(table: str, column: str, target: str) -> ForeignKeyConstraint:
    """A reference that deletes the row with its target."""
    return ForeignKeyConstraint([column], [target], name=f"fk_{table}_{column}", ondelete="CASCADE")
