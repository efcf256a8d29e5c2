"""The end of an evaluation, changes to it, its deletion, and its log."""

from typing import Any

import msgspec
from sqlalchemy import Connection, Row, delete, insert, select, update

from prime_cli.core.errors import Conflict, NotAllowed, NotFound, TooLarge, UsageError
from prime_cli.hub.context import Caller, Hub
from prime_cli.hub.db.tables import evaluation_logs, evaluations, samples
from prime_cli.hub.services.audit import record
from prime_cli.hub.services.evaluations.access import find_evaluation, lock_evaluation
from prime_cli.hub.services.evaluations.creation import columns_of, json_object
from prime_cli.hub.services.evaluations.queries import describe_result
from prime_cli.hub.services.evaluations.statistics import Tally
from prime_cli.wire.codec import encode
from prime_cli.wire.evaluations import (
    CANCELLED,
    COMPLETED,
    FAILED,
    MOST_LOG_BYTES,
    BulkDeletion,
    BulkDeletionResult,
    EvaluationChange,
    EvaluationLogs,
    EvaluationUpdate,
    FinalizeRequest,
    FinalizeResult,
)

# --- Completion, changes, deletion ---

_CLOSED = (COMPLETED, FAILED, CANCELLED)
_AT_ONCE = 2000


def finalize(
    hub: Hub, caller: Caller, evaluation_id: str, request: FinalizeRequest
) -> FinalizeResult:
    """Mark an evaluation as complete, with the client's own metrics beside the hub's.

    Done twice, it is as done once, and samples may still come after it. Raises Conflict when the
    evaluation has failed or was cancelled.
    """
    columns: dict[str, Any] = {}
    if request.metrics is not None:
        columns["metrics"] = json_object("metrics", request.metrics)
    with hub.database.write(alone=False) as connection:
        row = lock_evaluation(connection, caller, evaluation_id)
        if row.status in (FAILED, CANCELLED):
            raise Conflict(f"Evaluation `{row.id}` is closed: {row.status}")
        now = hub.now()
        connection.execute(
            update(evaluations)
            .where(evaluations.c.id == row.id)
            .values(
                status=COMPLETED,
                finished_at=row.finished_at or now,
                updated_at=now,
                **columns,
                **_figures(connection, row),
            )
        )
        return describe_result(hub, lock_evaluation(connection, caller, evaluation_id))


def change(
    hub: Hub, caller: Caller, evaluation_id: str, request: EvaluationUpdate
) -> EvaluationChange:
    """Change what the request names; raises Conflict for another end of what has ended."""
    columns = columns_of(request)
    if request.status is not None and request.status not in (FAILED, CANCELLED):
        raise UsageError(
            f"An evaluation cannot be made `{request.status[:80]}`",
            hint=f"write {FAILED} or {CANCELLED}; to complete it, finalize it",
        )
    with hub.database.write(alone=False) as connection:
        row = lock_evaluation(connection, caller, evaluation_id)
        now = hub.now()
        if request.status is not None and request.status != row.status:
            if row.status in _CLOSED:
                raise Conflict(f"Evaluation `{row.id}` is closed already: {row.status}")
            columns |= {"status": request.status, "finished_at": now}
        connection.execute(
            update(evaluations).where(evaluations.c.id == row.id).values(updated_at=now, **columns)
        )
        if columns.get("is_public", row.is_public) != row.is_public:
            detail = {"is_public": columns["is_public"]}
            record(hub, connection, caller, "evaluation.visibility", row.id, **detail)
    return EvaluationChange(
        row.id, columns.get("name", row.name), columns.get("status", row.status), now
    )


def delete_evaluation(hub: Hub, caller: Caller, evaluation_id: str) -> EvaluationChange:
    """Forget an evaluation with its samples; raises NotFound or NotAllowed."""
    with hub.database.write(alone=False) as connection:
        row = lock_evaluation(connection, caller, evaluation_id)
        connection.execute(delete(evaluations).where(evaluations.c.id == row.id))
        record(hub, connection, caller, "evaluation.delete", row.id, name=row.name)
    return EvaluationChange(row.id, row.name, "DELETED", hub.now())


def delete_evaluations(hub: Hub, caller: Caller, request: BulkDeletion) -> BulkDeletionResult:
    """Delete each of several evaluations; one that cannot be deleted does not keep the others."""
    deleted, failed = [], []
    for evaluation_id in dict.fromkeys(request.evaluation_ids):
        try:
            delete_evaluation(hub, caller, evaluation_id)
        except (NotFound, NotAllowed):
            failed.append(evaluation_id)
        else:
            deleted.append(evaluation_id)
    return BulkDeletionResult(len(deleted), len(failed), deleted, failed)


def _figures(connection: Connection, row: Row[Any]) -> dict[str, Any]:
    """The summary anew from all samples, if some were replaced since it was made."""
    if row.summary is not None:
        return {}
    tally = Tally()
    scores = msgspec.json.Decoder(dict[str, float])
    last = 0
    while page := connection.execute(
        select(samples.c.number, samples.c.reward, samples.c.failed, samples.c.scores)
        .where(samples.c.evaluation_id == row.id, samples.c.number > last)
        .order_by(samples.c.number)
        .limit(_AT_ONCE)
    ).all():
        for each in page:
            tally.add(each.reward, scores.decode(each.scores), failed=each.failed)
        last = page[-1].number
    return {"summary": encode(tally).decode(), "average_reward": tally.mean_reward()}


# --- Logs ---


def get_logs(hub: Hub, caller: Caller, evaluation_id: str) -> EvaluationLogs:
    """The log of an evaluation, empty where none was kept; raises NotFound."""
    with hub.database.read() as connection:
        row = find_evaluation(connection, caller, evaluation_id)
        body = connection.execute(
            select(evaluation_logs.c.body).where(evaluation_logs.c.evaluation_id == row.id)
        ).scalar()
    return EvaluationLogs(str(body or ""))


def put_logs(hub: Hub, caller: Caller, evaluation_id: str, said: EvaluationLogs) -> EvaluationLogs:
    """Keep the log of an evaluation in place of an older one; what is kept.

    Raises NotFound, NotAllowed, or TooLarge above 1 MiB of UTF-8.
    """
    if len(said.logs.encode()) > MOST_LOG_BYTES:
        raise TooLarge(
            f"The log is larger than {MOST_LOG_BYTES} bytes", hint="send only the end of it"
        )
    # PostgreSQL has no text with this character.
    kept = EvaluationLogs(said.logs.replace("\0", "\ufffd"))
    with hub.database.write(alone=False) as connection:
        row = lock_evaluation(connection, caller, evaluation_id)
        mine = evaluation_logs.c.evaluation_id == row.id
        connection.execute(delete(evaluation_logs).where(mine))
        connection.execute(
            insert(evaluation_logs).values(
                evaluation_id=row.id, body=kept.logs, updated_at=hub.now()
            )
        )
    return kept
