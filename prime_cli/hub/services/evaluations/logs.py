"""The log of an evaluation: text that its run kept, the newest alone."""

from sqlalchemy import delete, insert, select

from prime_cli.core.errors import TooLarge
from prime_cli.hub.context import Caller, Hub
from prime_cli.hub.db.tables import evaluation_logs
from prime_cli.hub.services.evaluations.queries import find_evaluation, lock_evaluation
from prime_cli.wire.evaluations import MOST_LOG_BYTES, EvaluationLogs


def get_logs(hub: Hub, caller: Caller, evaluation_id: str) -> EvaluationLogs:
    """The log of an evaluation, empty if there is none; raises NotFound."""
    with hub.database.read() as connection:
        row = find_evaluation(connection, caller, evaluation_id)
        body = connection.execute(
            select(evaluation_logs.c.body).where(evaluation_logs.c.evaluation_id == row.id)
        ).scalar()
    return EvaluationLogs(str(body or ""), row.id)


def put_logs(hub: Hub, caller: Caller, evaluation_id: str, new: EvaluationLogs) -> EvaluationLogs:
    """Store the log of an evaluation, replacing an older one; returns what is kept.

    Raises NotFound, NotAllowed, or TooLarge above 1 MiB of UTF-8.
    """
    if len(new.logs.encode()) > MOST_LOG_BYTES:
        raise TooLarge(
            f"The log is larger than {MOST_LOG_BYTES} bytes", hint="send only the end of it"
        )
    # PostgreSQL text cannot contain this character.
    kept = new.logs.replace("\0", "\ufffd")
    with hub.database.write(alone=False) as connection:
        row = lock_evaluation(connection, caller, evaluation_id)
        mine = evaluation_logs.c.evaluation_id == row.id
        connection.execute(delete(evaluation_logs).where(mine))
        connection.execute(
            insert(evaluation_logs).values(evaluation_id=row.id, body=kept, updated_at=hub.now())
        )
    return EvaluationLogs(kept, row.id)
