"""The leaderboard of an environment: its newest evaluation by each model and version."""

import math
from collections.abc import Iterable
from typing import Any

import msgspec
from sqlalchemy import Connection, Label, Row, case, func, select

from prime_cli.core.refs import EnvRef
from prime_cli.hub.context import Caller, Hub
from prime_cli.hub.db.tables import evaluated, evaluations, owners
from prime_cli.hub.services.access import find_environment
from prime_cli.hub.services.evaluations.queries import summarize
from prime_cli.hub.services.evaluations.sample_queries import history_conditions
from prime_cli.pages.environments import BestScore
from prime_cli.pages.leaderboard import Leaderboard, LeaderboardRow
from prime_cli.wire.evaluations import EvaluationSummary, HistoryQuery

_MOST = 300
"""Evaluations that are looked at, the newest ones."""
_LONGEST_METADATA = 32 * 1024
"""In characters; what longer metadata tells of cost and tokens is not shown."""
_CLOSE = 1e-6


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


def read_leaderboard(hub: Hub, caller: Caller, ref: EnvRef, query: HistoryQuery) -> Leaderboard:
    """Of the visible finished evaluations among the newest 300, best mean first.

    Raises NotFound for an environment that the caller does not see.
    """
    columns = [each for each in evaluations.c if each.name not in ("metadata", "tags", "metrics")]
    with hub.database.read() as connection:
        environment = find_environment(connection, caller, ref)
        rows = connection.execute(
            select(
                *columns,
                _told(),
                owners.c.slug.label("owner"),
                evaluated.c.semantic_version,
            )
            .select_from(
                evaluated.join(evaluations, evaluated.c.evaluation_id == evaluations.c.id).join(
                    owners, evaluations.c.owner_id == owners.c.id
                )
            )
            .where(*history_conditions(caller, environment.id, query))
            .order_by(evaluations.c.finished_at.desc(), evaluations.c.id)
            .limit(_MOST + 1)
        ).all()
    newest = {(row.model_name, row.semantic_version): row for row in reversed(rows[:_MOST])}
    ranked = sorted(map(_row, newest.values()), key=_rank)
    return Leaderboard(ranked, _named(rows, "model_name"), _named(rows, "semantic_version"))


def find_best(connection: Connection, caller: Caller, environment_id: str) -> BestScore | None:
    """The visible finished evaluation with the highest mean; None without any."""
    best = connection.execute(
        select(evaluations.c.id, evaluations.c.model_name, evaluations.c.average_reward, _told())
        .select_from(
            evaluated.join(evaluations, evaluated.c.evaluation_id == evaluations.c.id).join(
                owners, evaluations.c.owner_id == owners.c.id
            )
        )
        .where(*history_conditions(caller, environment_id, HistoryQuery()))
        .where(evaluations.c.average_reward.is_not(None))
        .order_by(evaluations.c.average_reward.desc(), evaluations.c.id)
        .limit(1)
    ).first()
    if best is None:
        return None
    run = _read(best.told).prime_run or _Run()
    interval = _interval(run.reward, best.average_reward)
    return BestScore(best.id, best.model_name or "unnamed", best.average_reward, interval)


def _told() -> Label[str]:
    """The metadata as `told`, unless it is too long."""
    size = func.length(evaluations.c.metadata)
    return case((size <= _LONGEST_METADATA, evaluations.c.metadata), else_="{}").label("told")


def _read(told: str) -> _Metadata:
    try:
        return msgspec.json.decode(told, type=_Metadata)
    except msgspec.DecodeError:
        return _Metadata()


def _named(rows: Iterable[Any], column: str) -> list[str]:
    return sorted({name for row in rows if (name := getattr(row, column))})


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
