"""The leaderboard of an environment: its newest evaluation by each owner, model and version."""

import math
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
from sqlalchemy import ColumnElement, Connection, Label, Row, Subquery, case, func, select

from prime_cli.core.refs import EnvRef
from prime_cli.hub.context import Caller, Hub
from prime_cli.hub.db.tables import evaluated, evaluations, owners
from prime_cli.hub.services.access import find_environment
from prime_cli.hub.services.evaluations.queries import summarize
from prime_cli.hub.services.evaluations.sample_queries import (
    finished_conditions,
    history_conditions,
)
from prime_cli.pages.environments import BestScore
from prime_cli.pages.leaderboard import Leaderboard, LeaderboardRow
from prime_cli.wire.evaluations import EvaluationSummary, HistoryQuery

_MOST = 300
"""Rows, and names to choose from."""
_LONGEST_METADATA = 32 * 1024
"""In characters; what longer metadata tells of cost and tokens is not shown."""
_CLOSE = 1e-6
_JOINED = evaluated.join(evaluations, evaluated.c.evaluation_id == evaluations.c.id).join(
    owners, evaluations.c.owner_id == owners.c.id
)


class _Usage(msgspec.Struct):
    input: float | None = None
    output: float | None = None


class _Own(msgspec.Struct):
    usage: _Usage | None = None
    cost: float | None = None


class _Reward(msgspec.Struct):
    mean: float | None = None
    interval: tuple[float, float] | None = None


class _Run(msgspec.Struct):
    examples: int | None = None
    reward: _Reward | None = None


class _Metadata(msgspec.Struct):
    """What a run says of itself, as `prime eval push` writes it; anybody may write anything."""

    rollouts_per_example: int | None = None
    num_examples: int | None = None
    prime: _Own | None = None
    prime_run: _Run | None = None


def read_leaderboard(
    hub: Hub, caller: Caller, ref: EnvRef, query: HistoryQuery, *, most: int = _MOST
) -> Leaderboard:
    """The newest visible finished evaluation by each owner, model and version, best mean first.

    Raises NotFound for an environment that the caller does not see.
    """
    columns = [each for each in evaluations.c if each.name not in ("metadata", "tags", "metrics")]
    with hub.database.read() as connection:
        environment = find_environment(connection, caller, ref)
        newest = _newest(history_conditions(caller, environment.id, query))
        rows: Sequence[Any] = connection.execute(
            select(
                *columns,
                _told(),
                owners.c.slug.label("owner"),
                newest.c.semantic_version,
            )
            .join(newest, newest.c.id == evaluations.c.id)
            .join(owners, evaluations.c.owner_id == owners.c.id)
            .where(newest.c.place == 1)
            .order_by(evaluations.c.average_reward.desc().nulls_last(), evaluations.c.id)
            .limit(most + 1)
        ).all()
        every = history_conditions(caller, environment.id, HistoryQuery())
        models = _names(connection, evaluations.c.model_name, every)
        versions = _names(connection, evaluated.c.semantic_version, every)
    ranked = sorted(map(_row, rows[:most]), key=_rank)
    return Leaderboard(ranked, models, versions, is_cut=len(rows) > most)


def _newest(conditions: Iterable[ColumnElement[bool]]) -> Subquery:
    """Evaluations, and as `place` 1 for the newest of its owner, model and version."""
    of_whom = (evaluations.c.owner_id, evaluations.c.model_name, evaluated.c.semantic_version)
    newest_first = (evaluations.c.finished_at.desc(), evaluations.c.id)
    place = func.row_number().over(partition_by=of_whom, order_by=newest_first)
    return (
        select(evaluations.c.id, evaluated.c.semantic_version, place.label("place"))
        .select_from(_JOINED)
        .where(*conditions)
        .subquery()
    )


def _names(
    connection: Connection, column: ColumnElement[Any], conditions: Iterable[ColumnElement[bool]]
) -> list[str]:
    named = (
        select(column).select_from(_JOINED).where(*conditions, column.is_not(None), column != "")
    )
    return list(connection.execute(named.distinct().order_by(column).limit(_MOST)).scalars())


def find_best(connection: Connection, caller: Caller, ids: Sequence[str]) -> dict[str, BestScore]:
    """The visible finished evaluation with the highest mean, by the id of its environment.

    Environments without any are left out.
    """
    best_first = (
        evaluations.c.average_reward.desc(),
        evaluations.c.sample_count.desc(),
        evaluations.c.id,
    )
    place = func.row_number().over(partition_by=evaluated.c.environment_id, order_by=best_first)
    placed = (
        select(evaluations.c.id, evaluated.c.environment_id, place.label("place"))
        .select_from(_JOINED)
        .where(evaluated.c.environment_id.in_(ids), *finished_conditions(caller))
        .where(evaluations.c.average_reward.is_not(None))
        .subquery()
    )
    rows = connection.execute(
        select(
            evaluations.c.id,
            evaluations.c.model_name,
            evaluations.c.average_reward,
            evaluations.c.sample_count,
            placed.c.environment_id,
            _told(),
            owners.c.slug.label("owner"),
        )
        .join(placed, placed.c.id == evaluations.c.id)
        .join(owners, evaluations.c.owner_id == owners.c.id)
        .where(placed.c.place == 1)
    )
    return {row.environment_id: _best(row) for row in rows}


def _best(row: Row[Any]) -> BestScore:
    run = _read(row.told).prime_run or _Run()
    return BestScore(
        evaluation_id=row.id,
        model=row.model_name or "unnamed",
        owner=row.owner,
        samples=row.sample_count,
        mean=row.average_reward,
        interval=_interval(run.reward, row.average_reward),
    )


def _told() -> Label[str]:
    """The metadata as `told`, unless it is too long."""
    size = func.length(evaluations.c.metadata)
    return case((size <= _LONGEST_METADATA, evaluations.c.metadata), else_="{}").label("told")


def _read(told: str) -> _Metadata:
    try:
        return msgspec.json.decode(told, type=_Metadata)
    except msgspec.DecodeError:
        return _Metadata()


def _rank(row: LeaderboardRow) -> tuple[float, str]:
    return (math.inf if row.mean is None else -row.mean, row.model)


def _row(row: Row[Any]) -> LeaderboardRow:
    told = _read(row.told)
    summary = summarize(row)
    own, run = told.prime or _Own(), told.prime_run or _Run()
    usage = own.usage or _Usage()
    errors = summary.errors if summary else 0
    return LeaderboardRow(
        evaluation_id=row.id,
        name=row.name,
        model=row.model_name or "unnamed",
        version=row.semantic_version or "",
        mean=row.average_reward,
        interval=_interval(run.reward, row.average_reward),
        examples=run.examples or told.num_examples,
        rollouts=told.rollouts_per_example,
        samples=row.sample_count,
        errors=errors,
        with_errors=_with_errors(summary),
        cost=own.cost,
        tokens=None if usage.output is None else int((usage.input or 0) + usage.output),
        date=row.finished_at,
        owner=row.owner,
    )


def _interval(told: _Reward | None, mean: float | None) -> tuple[float, float] | None:
    """What the run says, if its mean is the one of the samples that the hub has."""
    if told is None or told.interval is None or told.mean is None or mean is None:
        return None
    low, high = told.interval
    agrees = math.isclose(told.mean, mean, abs_tol=_CLOSE) and low <= mean <= high
    return told.interval if agrees else None


def _with_errors(summary: EvaluationSummary | None) -> float | None:
    """The mean with errors counted as 0; None without errors or rewards."""
    reward = summary.metrics.get("reward") if summary else None
    if summary is None or reward is None or reward.mean is None or not summary.errors:
        return None
    return reward.mean * reward.count / max(summary.samples, reward.count)
