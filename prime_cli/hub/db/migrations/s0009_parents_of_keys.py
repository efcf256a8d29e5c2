"""Schema 9: what was granted with a key goes when the key goes."""

from alembic.operations import Operations
from sqlalchemy import Column, String


def upgrade(op: Operations) -> None:
    """From schema 8. What is there already keeps no parent: nobody noted it."""
    _refer_to_key(op, "keys", "parent_id", initially="DEFERRED")
    _refer_to_key(op, "challenges", "key_id")
    _refer_to_key(op, "uploads", "key_id")


def _refer_to_key(op: Operations, table: str, column: str, initially: str | None = None) -> None:
    # SQLite adds no constraint to a table, so there it is made anew and copied.
    with op.batch_alter_table(table) as batch:
        batch.add_column(Column(column, String))
        batch.create_foreign_key(
            f"fk_{table}_{column}",
            "keys",
            [column],
            ["id"],
            ondelete="CASCADE",
            deferrable=True if initially else None,
            initially=initially,
        )
    op.create_index(f"ix_{table}_{column}", table, [column])
