"""Create, change, complete and delete an evaluation."""

from typing import Any

from sqlalchemy import Connection, Row, delete, insert, select, update

from prime_cli.core.errors import Conflict, NotAllowed, NotFound, TooLarge, UsageError
from prime_cli.hub.context import Caller, Hub
from prime_cli.hub.db.tables import evaluated, evaluations, versions
from prime_cli.hub.services.access import (
    find_by_id,
    find_own_team,
    find_owner,
    owner_id,
    require_owner_slug,
    require_user,
    taken_down,
)
from prime_cli.hub.services.audit import record
from prime_cli.hub.services.evaluations.figures import compute_figures
from prime_cli.hub.services.evaluations.queries import (
    NO_RECEIPT,
    describe_result,
    describe_ticket,
    lock_evaluation,
    select_evaluated,
)
from prime_cli.hub.services.evaluations.standings import forget_standing, update_standing
from prime_cli.hub.tokens import new_id
from prime_cli.wire.codec import encode
from prime_cli.wire.evaluations import (
    CANCELLED,
    CLOSED,
    COMPLETED,
    FAILED,
    PENDING,
    BulkDeletion,
    BulkDeletionResult,
    EnvironmentReference,
    EvaluationChange,
    EvaluationRequest,
    EvaluationTicket,
    EvaluationUpdate,
    FinalizeRequest,
    FinalizeResult,
)

# --- Fields ---

_LONGEST_NAME = 500
_LONGEST_TEXT = 100_000
_LONGEST_ERROR = 4096
_MOST_TAGS = 100
_MOST_JSON = 1024 * 1024
_DEEPEST = 64

TEXTS = ("name", "model_name", "dataset", "framework", "task_type", "description")
_LIMITS = {"description": _LONGEST_TEXT, "error_message": _LONGEST_ERROR}


def columns_of(request: EvaluationRequest | EvaluationUpdate) -> dict[str, Any]:
    """The columns set by a request, omitting what it leaves out; raises UsageError, TooLarge.

    Texts have at most 500 characters, a description 100,000, an error message 4,096; metadata and
    metrics 1 MiB of JSON each, nested at most 64 deep.
    """
    texts = {name: getattr(request, name) for name in TEXTS}
    if isinstance(request, EvaluationRequest):
        texts |= {"suite_id": request.suite_id, "run_id": request.run_id}
    else:
        texts |= {"error_message": request.error_message}
    columns: dict[str, Any] = {
        name: _text(name, text) for name, text in texts.items() if text is not None
    }
    if request.tags is not None:
        columns["tags"] = _tags(request.tags)
    for name, value in (("metadata", request.metadata), ("metrics", request.metrics)):
        if value is not None:
            columns[name] = json_object(name, value)
    if request.is_public is not None:
        columns["is_public"] = request.is_public
    if columns.get("name") == "":
        raise UsageError("An evaluation needs a name")
    return columns


def json_object(name: str, value: dict[str, Any]) -> str:
    """`value` as JSON text; raises UsageError or TooLarge above the bounds."""
    _require_depth(name, value)
    text = encode(value)
    if len(text) > _MOST_JSON:
        raise TooLarge(f"`{name}` has more than {_MOST_JSON} bytes")
    return text.decode()


def _text(name: str, text: str) -> str:
    longest = _LIMITS.get(name, _LONGEST_NAME)
    if len(text) > longest:
        raise UsageError(f"`{name}` has more than {longest} characters")
    return text


def _tags(tags: list[str]) -> str:
    if len(tags) > _MOST_TAGS:
        raise UsageError(f"More than {_MOST_TAGS} tags are given")
    return encode([_text("tags", tag) for tag in tags]).decode()


def _require_depth(name: str, value: Any) -> None:
    level = [value]
    for _ in range(_DEEPEST):
        level = [
            inner
            for item in level
            if isinstance(item, (dict, list))
            for inner in (item.values() if isinstance(item, dict) else item)
        ]
        if not level:
            return
    raise UsageError(f"`{name}` is nested more than {_DEEPEST} deep")


# --- Creation ---

_MOST_ENVIRONMENTS = 50
_LONGEST_KEY = 200


def create_evaluation(
    hub: Hub, caller: Caller, request: EvaluationRequest, *, key: str | None = None
) -> EvaluationTicket:
    """A new evaluation of the caller, or of a team of the caller.

    With a `key` that the owner has used before, returns the earlier evaluation, so that a request
    whose answer was lost can be repeated. Without a version, the environment's newest one is
    recorded. Raises NotFound for an environment, version or team that the caller does not see,
    NotAllowed without the right to write, UsageError.
    """
    require_user(caller)
    _check(request, key)
    columns = columns_of(request)
    with hub.database.write() as connection:
        owner = _owner_of(connection, caller, request.team_id)
        require_owner_slug(caller, owner, owner)
        made_for = owner_id(hub, connection, owner)
        found = _find_made(connection, made_for, key)
        if found is None:
            found = _insert(hub, connection, caller, columns, owner_id=made_for, key=key)
            _insert_evaluated(connection, caller, found, request.environments or [])
            record(hub, connection, caller, "evaluation.create", found, owner=owner)
        rows = connection.execute(select_evaluated([found])).all()
        row = connection.execute(select(evaluations).where(evaluations.c.id == found)).one()
    return describe_ticket(hub, row, rows)


def _check(request: EvaluationRequest, key: str | None) -> None:
    if not (request.environments or request.run_id or request.suite_id):
        raise UsageError(
            "An evaluation needs `environments`, a `run_id` or a `suite_id`",
            hint='write `"environments": [{"id": "owner/name"}]`',
        )
    if len(request.environments or []) > _MOST_ENVIRONMENTS:
        raise UsageError(f"More than {_MOST_ENVIRONMENTS} environments are given")
    if request.is_hosted:
        raise UsageError(
            "This hub stores evaluations but does not run them",
            hint="run it with `prime eval run`, then push the results",
        )
    if key is not None and not 0 < len(key) <= _LONGEST_KEY:
        raise UsageError(f"An Idempotency-Key has 1 to {_LONGEST_KEY} characters")


def _owner_of(connection: Connection, caller: Caller, team_id: str | None) -> str:
    if team_id:
        return str(find_own_team(connection, caller, team_id).slug)
    return caller.slug


def _find_made(connection: Connection, owner: str, key: str | None) -> str | None:
    if key is None:
        return None
    found = connection.execute(
        select(evaluations.c.id).where(
            evaluations.c.owner_id == owner, evaluations.c.creation_key == key
        )
    ).scalar()
    return None if found is None else str(found)


def _insert(
    hub: Hub,
    connection: Connection,
    caller: Caller,
    columns: dict[str, Any],
    *,
    owner_id: str,
    key: str | None,
) -> str:
    now = hub.now()
    made = new_id("ev")
    user = find_owner(connection, caller.slug)
    unsaid = {"is_public": False, "tags": "[]", "metadata": "{}", "metrics": "{}"}
    connection.execute(
        insert(evaluations).values(
            id=made,
            owner_id=owner_id,
            created_by=user.id if user is not None else None,
            creation_key=key,
            status=PENDING,
            sample_count=0,
            summary="{}",
            created_at=now,
            updated_at=now,
            **(unsaid | columns),
        )
    )
    return made


def _insert_evaluated(
    connection: Connection,
    caller: Caller,
    evaluation_id: str,
    references: list[EnvironmentReference],
) -> None:
    for position, reference in enumerate(references):
        wanted = reference.id or reference.slug
        if not wanted:
            raise UsageError("Each of `environments` needs an `id`")
        environment = find_by_id(connection, caller, wanted)
        version = _find_version(connection, environment, reference.version_id)
        connection.execute(
            insert(evaluated).values(
                evaluation_id=evaluation_id,
                position=position,
                environment_id=environment.id,
                slug=f"{environment.owner}/{environment.name}",
                was_public=False,
                version_id=version.id if version is not None else None,
                semantic_version=version.semantic_version if version is not None else None,
            )
        )


def _find_version(
    connection: Connection, environment: Row[Any], version_id: str | None
) -> Row[Any] | None:
    row = connection.execute(
        select(versions).where(
            versions.c.environment_id == environment.id,
            versions.c.id == (version_id or environment.latest_version_id),
        )
    ).one_or_none()
    if row is None and version_id:
        raise NotFound(
            f"Version `{version_id[:80]}` of `{environment.owner}/{environment.name}` not found"
        )
    return row


# --- Completion, changes, deletion ---


def finalize(
    hub: Hub, caller: Caller, evaluation_id: str, request: FinalizeRequest
) -> FinalizeResult:
    """Mark an evaluation as complete, with the client's own metrics beside the hub's.

    Idempotent, and samples may still follow. Raises Conflict if the evaluation has failed or was
    cancelled.
    """
    columns: dict[str, Any] = {}
    if request.metrics is not None:
        columns["metrics"] = json_object("metrics", request.metrics)
    figures = compute_figures(hub, caller, evaluation_id)
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
                **figures.columns_of(connection, row),
            )
        )
        update_standing(connection, row.id)
        return describe_result(hub, lock_evaluation(connection, caller, evaluation_id))


def change(
    hub: Hub, caller: Caller, evaluation_id: str, request: EvaluationUpdate
) -> EvaluationChange:
    """Change the fields in the request; raises Conflict for a different end of an ended one."""
    columns = columns_of(request)
    if request.status is not None and request.status not in (FAILED, CANCELLED):
        raise UsageError(
            f"An evaluation cannot be made `{request.status[:80]}`",
            hint=f"write {FAILED} or {CANCELLED}; to complete it, finalize it",
        )
    with hub.database.write(alone=False) as connection:
        row = lock_evaluation(connection, caller, evaluation_id)
        if row.taken_down is not None and columns.get("is_public"):
            raise taken_down(f"Evaluation `{row.id}`", row.taken_down)
        now = hub.now()
        if "metadata" in columns or "model_name" in columns:
            columns |= NO_RECEIPT
        if request.status is not None and request.status != row.status:
            if row.status in CLOSED:
                raise Conflict(f"Evaluation `{row.id}` is closed already: {row.status}")
            columns |= {"status": request.status, "finished_at": now}
        connection.execute(
            update(evaluations).where(evaluations.c.id == row.id).values(updated_at=now, **columns)
        )
        update_standing(connection, row.id)
        if columns.get("is_public", row.is_public) != row.is_public:
            detail = {"is_public": columns["is_public"]}
            record(hub, connection, caller, "evaluation.visibility", row.id, **detail)
    return EvaluationChange(
        row.id, columns.get("name", row.name), columns.get("status", row.status), now
    )


def delete_evaluation(hub: Hub, caller: Caller, evaluation_id: str) -> EvaluationChange:
    """Delete an evaluation with its samples; raises NotFound or NotAllowed."""
    with hub.database.write(alone=False) as connection:
        row = lock_evaluation(connection, caller, evaluation_id)
        forget_standing(connection, row.id)
        connection.execute(delete(evaluations).where(evaluations.c.id == row.id))
        record(hub, connection, caller, "evaluation.delete", row.id, name=row.name)
    return EvaluationChange(row.id, row.name, "DELETED", hub.now())


def delete_evaluations(hub: Hub, caller: Caller, request: BulkDeletion) -> BulkDeletionResult:
    """Delete several evaluations; one failure does not keep the others."""
    deleted, failed = [], []
    for evaluation_id in dict.fromkeys(request.evaluation_ids):
        try:
            delete_evaluation(hub, caller, evaluation_id)
        except (NotFound, NotAllowed):
            failed.append(evaluation_id)
        else:
            deleted.append(evaluation_id)
    return BulkDeletionResult(len(deleted), len(failed), deleted, failed)
