"""Rows of evaluations as wire structs."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Row, Select, select

from prime_cli.hub.context import Hub
from prime_cli.hub.db.tables import evaluated
from prime_cli.hub.services.evaluations.moments import Tally
from prime_cli.hub.services.owners import TEAM
from prime_cli.hub.urls import evaluation_url
from prime_cli.wire.codec import decode
from prime_cli.wire.evaluations import (
    EvaluatedEnvironment,
    EvaluationDetail,
    EvaluationSummary,
    EvaluationTicket,
    FinalizeResult,
    MetricSummary,
)


def select_evaluated(evaluation_ids: Sequence[str]) -> Select[Any]:
    """What these evaluations evaluate, in the order in which it was said."""
    return (
        select(evaluated)
        .where(evaluated.c.evaluation_id.in_(evaluation_ids))
        .order_by(evaluated.c.evaluation_id, evaluated.c.position)
    )


def describe_ticket(hub: Hub, row: Row[Any], environments: Sequence[Row[Any]]) -> EvaluationTicket:
    """What the client that makes an evaluation is told."""
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
    """Everything about one evaluation but its samples; `row` is one of `select_evaluations`."""
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
    )


def describe_result(hub: Hub, row: Row[Any]) -> FinalizeResult:
    """What the client that finishes an evaluation is told."""
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
    """The figures of the samples, or None while some were replaced and nobody has finalized."""
    if row.summary is None:
        return None
    tally = decode(row.summary.encode(), Tally)
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
