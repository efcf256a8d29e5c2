"""Finished evaluations of one environment: each one, and grouped by version and model."""

from typing import Any

from sqlalchemy import ColumnElement, Select, desc, func, select

from prime_cli.core.refs import EnvRef
from prime_cli.hub.context import Caller, Hub
from prime_cli.hub.db.tables import evaluated, evaluations, owners
from prime_cli.hub.services.access import find_environment
from prime_cli.hub.services.evaluations.access import visible_to
from prime_cli.wire.evaluations import (
    COMPLETED,
    EvaluationHistory,
    HistoryGroup,
    HistoryPoint,
    HistoryQuery,
)

_MOST_GROUPS = 1000
_SAMPLES = func.sum(evaluations.c.sample_count)


def list_history(hub: Hub, caller: Caller, ref: EnvRef, query: HistoryQuery) -> EvaluationHistory:
    """What the caller may see of an environment's finished evaluations, newest first.

    Groups are over all pages, those with the newest evaluation first, at most 1,000 of them.
    Raises NotFound for an environment that the caller does not see.
    """
    with hub.database.read() as connection:
        environment = find_environment(connection, caller, ref)
        wanted = _conditions(caller, environment.id, query)
        groups = connection.execute(_grouped(wanted)).all()
        points = connection.execute(
            _joined(
                evaluations,
                owners.c.slug.label("owner"),
                evaluated.c.semantic_version,
            )
            .where(*wanted)
            .order_by(evaluations.c.finished_at.desc(), evaluations.c.id)
            .limit(query.limit)
            .offset(query.skip)
        ).all()
        total = connection.execute(_joined(func.count()).where(*wanted)).scalar_one()
    return EvaluationHistory(
        groups=[HistoryGroup(*row) for row in groups],
        evaluations=[
            HistoryPoint(
                evaluation_id=row.id,
                name=row.name,
                owner=row.owner,
                version=row.semantic_version,
                model_name=row.model_name,
                samples=row.sample_count,
                mean_reward=row.average_reward,
                finished_at=row.finished_at,
            )
            for row in points
        ],
        total=total,
    )


def _grouped(wanted: list[ColumnElement[bool]]) -> Select[Any]:
    """Rows in the order of the fields of HistoryGroup."""
    has_mean = evaluations.c.average_reward.is_not(None)
    weight = func.sum(evaluations.c.sample_count).filter(has_mean)
    weighted = func.sum(evaluations.c.average_reward * evaluations.c.sample_count)
    last = func.max(evaluations.c.finished_at)
    return (
        _joined(
            evaluated.c.semantic_version,
            evaluations.c.model_name,
            func.count(),
            _SAMPLES,
            weighted / func.nullif(weight, 0),
            func.min(evaluations.c.finished_at),
            last,
        )
        .where(*wanted)
        .group_by(evaluated.c.semantic_version, evaluations.c.model_name)
        .order_by(desc(last))
        .limit(_MOST_GROUPS)
    )


def _joined(*columns: Any) -> Select[Any]:
    return select(*columns).select_from(
        evaluated.join(evaluations, evaluated.c.evaluation_id == evaluations.c.id).join(
            owners, evaluations.c.owner_id == owners.c.id
        )
    )


def _conditions(
    caller: Caller, environment_id: str, query: HistoryQuery
) -> list[ColumnElement[bool]]:
    wanted = [
        evaluated.c.environment_id == environment_id,
        evaluations.c.status == COMPLETED,
        visible_to(caller),
    ]
    if query.model_name:
        wanted.append(evaluations.c.model_name == query.model_name)
    if query.version:
        wanted.append(evaluated.c.semantic_version == query.version)
    return wanted
