"""Schemas 19 and 21: what lists of environments sort by and show of their evaluations."""

import json
import math

from alembic.operations import Operations
from sqlalchemy import BigInteger, Column, Float, Integer, String
from sqlalchemy import text as sql

from prime_cli.hub.db.indexes import order_indexes

_COUNTED = ("downloads", "evaluations")


def upgrade(op: Operations) -> None:
    """From schema 18; evaluations that are there are counted, earlier downloads are not known."""
    for table, columns in (("versions", ("downloads",)), ("environments", _COUNTED)):
        for column in columns:
            count = Column(column, BigInteger, nullable=False, server_default=sql("0"))
            op.add_column(table, count)
    op.add_column("environments", Column("kinds", String, nullable=False, server_default=""))
    op.add_column("artifacts", Column("kinds", String))
    op.add_column("evaluated", Column("audience", String))
    op.add_column("evaluated", Column("mean_reward", Float))
    op.execute(_COPY)
    op.create_index(
        "ix_evaluated_best",
        "evaluated",
        ["environment_id", "audience", "mean_reward", "evaluation_id"],
    )
    op.execute(
        "UPDATE environments SET evaluations = (SELECT count(DISTINCT evaluation_id) FROM evaluated"
        " WHERE evaluated.environment_id = environments.id AND audience = '')"
    )
    for statement in order_indexes(_COUNTED).values():
        op.execute(statement)


_COPY = """\
UPDATE evaluated SET
  mean_reward = (
    SELECT average_reward FROM evaluations
    WHERE evaluations.id = evaluated.evaluation_id AND status = 'COMPLETED'
  ),
  audience = (
    SELECT CASE WHEN is_public AND NOT EXISTS (
      SELECT 1 FROM evaluated AS other
      LEFT JOIN environments ON environments.id = other.environment_id
      WHERE other.evaluation_id = evaluations.id AND other.position <> evaluated.position
        AND CASE WHEN environments.id IS NULL THEN NOT other.was_public
          ELSE environments.visibility <> 'PUBLIC' END
    ) THEN '' ELSE owner_id END
    FROM evaluations
    WHERE evaluations.id = evaluated.evaluation_id AND status = 'COMPLETED'
  )
"""


def add_ranks(op: Operations) -> None:
    """From schema 20: the best evaluation by its version and the lower end of its interval."""
    op.add_column("evaluated", Column("lower_bound", Float))
    op.add_column("evaluated", Column("version_number", Integer))
    connection = op.get_bind()
    finished = sql("SELECT id, summary FROM evaluations WHERE status = 'COMPLETED'")
    bound = sql("UPDATE evaluated SET lower_bound = :low WHERE evaluation_id = :id")
    for row in connection.execute(finished).all():
        interval = json.loads(row.summary or "{}").get("interval")
        low = interval[0] if interval else -math.inf
        connection.execute(bound, {"low": low, "id": row.id})
    op.execute(_NUMBER)
    op.execute(
        "UPDATE evaluated SET mean_reward = NULL WHERE evaluation_id IN"
        " (SELECT id FROM evaluations WHERE model_name LIKE 'builtin/%')"
    )
    op.drop_index("ix_evaluated_best", "evaluated")
    order = ["version_number", "lower_bound", "mean_reward", "evaluation_id", "position"]
    op.create_index("ix_evaluated_best", "evaluated", ["environment_id", "audience", *order])


_NUMBER = """\
UPDATE evaluated SET version_number = coalesce(
  (SELECT number FROM versions WHERE versions.id = evaluated.version_id), 0
)
"""
