"""What the hub found of the receipt of an evaluation; those pushed before have none."""

from alembic import op
from sqlalchemy import Boolean, Column, Text

revision = "22"
down_revision = "21"


def upgrade() -> None:
    """Add the two columns, empty."""
    op.add_column("evaluations", Column("receipt_valid", Boolean))
    op.add_column("evaluations", Column("receipt_note", Text))
