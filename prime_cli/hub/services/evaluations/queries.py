"""Which evaluations a caller may see; one evaluation, and the list of the caller's own."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Row,
    Select,
    and_,
    exists,
    func,
    or_,
    select,
    update,
)

from prime_cli.core.errors import NotFound
from prime_cli.hub.context import Caller, Hub
from prime_cli.hub.db.tables import environments, evaluated, evaluations, owners
from prime_cli.hub.services.access import (
    PUBLIC,
    TEAM,
    find_own_team,
    require_owner_slug,
    require_user,
    require_valid_key,
    taken_down,
)
from prime_cli.hub.services.evaluations.statistics import SampleTotals
from prime_cli.hub.urls import evaluation_url
from prime_cli.wire.codec import decode
from prime_cli.wire.evaluations import (
    COMPLETED,
    EvaluatedEnvironment,
    EvaluationDetail,
    EvaluationPage,
    EvaluationQuery,
    EvaluationSummary,
    EvaluationTicket,
    FinalizeResult,
    MetricSummary,
)
from prime_cli.wire.locks import ReceiptMark

# --- Rows as wire structs ---


def select_evaluated(evaluation_ids: Sequence[str]) -> Select[Any]:
    """What these evaluations evaluate, in the order given."""
    return (
        select(evaluated)
        .where(evaluated.c.evaluation_id.in_(evaluation_ids))
        .order_by(evaluated.c.evaluation_id, evaluated.c.position)
    )


def describe_ticket(hub: Hub, row: Row[Any], environments: Sequence[Row[Any]]) -> EvaluationTicket:
    """The response to the client that creates an evaluation."""
    return EvaluationTicket(
        evaluation_id=row.id,
        name=row.name,
        status=row.status,
        eval_type=_type_of(row),
        environment_ids=[each.environment_id for each in environments if each.environment_id],
        suite_id=row.suite_id,
        run_id=row.run_id,
        version_id=environments[0].version_id if environments else None,
        viewer_url=evaluation_url(hub.settings.public_url, row.id),
        created_at=row.created_at,
    )


def describe_evaluation(
    hub: Hub, row: Row[Any], environments: Sequence[Row[Any]]
) -> EvaluationDetail:
    """Everything about one evaluation except its samples; `row` is one of `select_evaluations`."""
    summary = summarize(row)
    reward = summary.metrics.get("reward") if summary is not None else None
    is_team = row.owner_type == TEAM
    return EvaluationDetail(
        evaluation_id=row.id,
        name=row.name,
        status=row.status,
        eval_type=_type_of(row),
        owner=row.owner,
        user_id=None if is_team else row.owner_id,
        team_id=row.owner_id if is_team else None,
        environment_ids=[each.environment_id for each in environments if each.environment_id],
        environment_names=[each.slug for each in environments],
        environments=[
            EvaluatedEnvironment(
                each.slug, each.environment_id, each.version_id, each.semantic_version
            )
            for each in environments
        ],
        suite_id=row.suite_id,
        run_id=row.run_id,
        version_id=environments[0].version_id if environments else None,
        error_message=row.error_message,
        model_name=row.model_name,
        dataset=row.dataset,
        framework=row.framework,
        task_type=row.task_type,
        description=row.description,
        tags=decode(row.tags.encode(), list[str]),
        total_samples=row.sample_count,
        avg_score=row.average_reward,
        min_score=reward.min if reward is not None else None,
        max_score=reward.max if reward is not None else None,
        created_at=row.created_at,
        updated_at=row.updated_at,
        completed_at=row.finished_at,
        metadata=decode(row.metadata.encode(), dict[str, Any]),
        metrics=decode(row.metrics.encode(), dict[str, Any]),
        summary=summary,
        viewer_url=evaluation_url(hub.settings.public_url, row.id),
        is_public=row.is_public,
        receipt=describe_receipt(row),
    )


NO_RECEIPT: dict[str, Any] = {"receipt_valid": None, "receipt_note": None}
"""The columns of an evaluation without one, or since samples or metadata were changed."""


def describe_receipt(row: Row[Any]) -> ReceiptMark | None:
    """What the hub found of the receipt; None without one."""
    if row.receipt_valid is None:
        return None
    return ReceiptMark(
        valid=row.receipt_valid,
        signer=row.receipt_note if row.receipt_valid else None,
        problem=None if row.receipt_valid else row.receipt_note,
    )


def describe_result(hub: Hub, row: Row[Any]) -> FinalizeResult:
    """The response to the client that finishes an evaluation."""
    summary = summarize(row)
    reward = summary.metrics.get("reward") if summary is not None else None
    return FinalizeResult(
        evaluation_id=row.id,
        status=row.status,
        total_samples=row.sample_count,
        avg_score=row.average_reward,
        min_score=reward.min if reward is not None else None,
        max_score=reward.max if reward is not None else None,
        viewer_url=evaluation_url(hub.settings.public_url, row.id),
    )


def summarize(row: Row[Any]) -> EvaluationSummary | None:
    """The figures of the samples, or None while some were replaced since the last finalize."""
    if row.summary is None:
        return None
    tally = decode(row.summary.encode(), SampleTotals)
    return EvaluationSummary(
        samples=row.sample_count,
        errors=tally.errors,
        metrics={
            name: MetricSummary(each.count, each.mean, each.deviation(), each.least, each.most)
            for name, each in tally.scores.items()
        },
    )


def _type_of(row: Row[Any]) -> str:
    if row.suite_id:
        return "suite"
    return "training" if row.run_id else "environment"


# --- Queries ---


def get_evaluation(hub: Hub, caller: Caller, evaluation_id: str) -> EvaluationDetail:
    """Everything about one evaluation except its samples; raises NotFound."""
    with hub.database.read() as connection:
        row = find_evaluation(connection, caller, evaluation_id)
        environments = connection.execute(select_evaluated([row.id])).all()
    return describe_evaluation(hub, row, environments)


def list_evaluations(hub: Hub, caller: Caller, query: EvaluationQuery) -> EvaluationPage:
    """One page of the evaluations of the caller and the caller's teams, newest first.

    Raises NotLoggedIn for an unknown caller, NotFound for others' teams.
    """
    require_user(caller)
    with hub.database.read() as connection:
        wanted = _conditions(connection, caller, query)
        rows = connection.execute(
            select_evaluations()
            .where(*wanted)
            .order_by(evaluations.c.created_at.desc(), evaluations.c.id)
            .limit(query.limit)
            .offset(query.skip)
        ).all()
        total = connection.execute(
            select(func.count())
            .select_from(evaluations.join(owners, evaluations.c.owner_id == owners.c.id))
            .where(*wanted)
        ).scalar_one()
        environments = _environments_of(connection, rows)
    return EvaluationPage(
        [describe_evaluation(hub, row, environments[row.id]) for row in rows],
        total=total,
        skip=query.skip,
        limit=query.limit,
    )


def _conditions(
    connection: Connection, caller: Caller, query: EvaluationQuery
) -> list[ColumnElement[bool]]:
    wanted: list[ColumnElement[bool]] = [owners.c.slug.in_(caller.reads)]
    if query.team_id:
        team = find_own_team(connection, caller, query.team_id)
        wanted.append(evaluations.c.owner_id == team.id)
    if query.suite_id:
        wanted.append(evaluations.c.suite_id == query.suite_id)
    if query.environment_id:
        wanted.append(_evaluates(evaluated.c.environment_id == query.environment_id))
    if name := query.environment_name:
        wanted.append(
            _evaluates(
                evaluated.c.slug == name
                if "/" in name
                else evaluated.c.slug.endswith(f"/{name}", autoescape=True)
            )
        )
    return wanted


def _evaluates(condition: ColumnElement[bool]) -> ColumnElement[bool]:
    return exists().where(evaluated.c.evaluation_id == evaluations.c.id, condition)


def _environments_of(connection: Connection, rows: Sequence[Row[Any]]) -> dict[str, list[Row[Any]]]:
    found: dict[str, list[Row[Any]]] = defaultdict(list)
    for row in connection.execute(select_evaluated([row.id for row in rows])):
        found[row.evaluation_id].append(row)
    return found


# --- Which evaluations a caller may see and change. What is private does not exist for others ---

_ENVIRONMENT_OWNERS = owners.alias("environment_owners")


def select_evaluations() -> Select[Any]:
    """Rows of `evaluations` with `owner` (slug) and `owner_type`."""
    return select(
        evaluations, owners.c.slug.label("owner"), owners.c.type.label("owner_type")
    ).join(owners, evaluations.c.owner_id == owners.c.id)


def visible_to(caller: Caller) -> ColumnElement[bool]:
    """The condition under which a caller sees an evaluation.

    A public one is seen by whoever sees all of its environments: names of evaluations, their
    metadata and samples say so much of an environment that to hide its name alone hides nothing.
    """
    return or_(
        owners.c.slug.in_(caller.reads),
        and_(evaluations.c.is_public, ~exists(_hidden_environments(caller))),
    )


def finished_conditions(caller: Caller) -> list[ColumnElement[bool]]:
    """The conditions for finished evaluations that the caller sees."""
    return [evaluations.c.status == COMPLETED, visible_to(caller)]


def find_evaluation(connection: Connection, caller: Caller, evaluation_id: str) -> Row[Any]:
    """The row of an evaluation; raises NotFound."""
    return _found(connection, caller, _select_one(caller, evaluation_id), evaluation_id)


def find_writable(connection: Connection, caller: Caller, evaluation_id: str) -> Row[Any]:
    """The same for callers who may change it; raises NotFound, NotLoggedIn or NotAllowed."""
    row = find_evaluation(connection, caller, evaluation_id)
    require_owner_slug(caller, row.owner, evaluation_id)
    return row


def lock_evaluation(connection: Connection, caller: Caller, evaluation_id: str) -> Row[Any]:
    """As `find_writable`, and until the transaction ends nobody else changes that evaluation.

    So batches of one evaluation are taken one after the other, and those of several at once where
    the database can.
    """
    wanted = _select_one(caller, evaluation_id).with_for_update(of=evaluations)
    row = _found(connection, caller, wanted, evaluation_id)
    require_owner_slug(caller, row.owner, evaluation_id)
    return row


def note_deletion(connection: Connection, environment: Row[Any]) -> None:
    """Before an environment is deleted, record in its evaluations whether it was public."""
    connection.execute(
        update(evaluated)
        .where(evaluated.c.environment_id == environment.id)
        .values(was_public=environment.visibility == PUBLIC)
    )


def _select_one(caller: Caller, evaluation_id: str) -> Select[Any]:
    return select_evaluations().where(evaluations.c.id == evaluation_id, visible_to(caller))


def _found(
    connection: Connection, caller: Caller, wanted: Select[Any], evaluation_id: str
) -> Row[Any]:
    row = connection.execute(wanted).one_or_none()
    if row is None:
        reason = connection.execute(
            select(evaluations.c.taken_down).where(evaluations.c.id == evaluation_id)
        ).scalar()
        if reason is not None:
            raise taken_down(f"Evaluation `{evaluation_id}`", reason)
        require_valid_key(caller)
        raise NotFound(f"Evaluation `{evaluation_id[:80]}` not found")
    return row


def _hidden_environments(caller: Caller) -> Select[Any]:
    """Environments of an evaluation that the caller does not see.

    Of one that was deleted, only what it was then is known.
    """
    # Written without NOT, which would be null for the nulls of a deleted environment.
    hidden = or_(
        and_(environments.c.id.is_(None), evaluated.c.was_public.is_(False)),
        and_(
            environments.c.visibility != PUBLIC,
            _ENVIRONMENT_OWNERS.c.slug.not_in(caller.reads),
        ),
    )
    return (
        select(evaluated.c.evaluation_id)
        .select_from(
            evaluated.outerjoin(
                environments, evaluated.c.environment_id == environments.c.id
            ).outerjoin(_ENVIRONMENT_OWNERS, environments.c.owner_id == _ENVIRONMENT_OWNERS.c.id)
        )
        .where(evaluated.c.evaluation_id == evaluations.c.id, hidden)
        .correlate(evaluations)
    )
