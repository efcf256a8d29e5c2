"""Schema 8: when a pod was last started again."""

from alembic.operations import Operations
from sqlalchemy import Column, String


def upgrade(op: Operations) -> None:
    """From schema 7."""
    op.add_column("pods", Column("started_again", String))
