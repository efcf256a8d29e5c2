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
from prime_cli.hub.services.evaluations.standings import EVERYBODY, best_evaluations
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
                _metadata(),
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
    audiences = [EVERYBODY, *_ids_of(connection, caller)]
    best = best_evaluations(connection, ids, audiences)
    rows = connection.execute(
        select(
            evaluations.c.id,
            evaluations.c.model_name,
            evaluations.c.average_reward,
            evaluations.c.sample_count,
            evaluations.c.summary,
            _metadata(),
            owners.c.slug.label("owner"),
        )
        .join(owners, evaluations.c.owner_id == owners.c.id)
        .where(
            evaluations.c.id.in_([each for found in best.values() for each in found]),
            *finished_conditions(caller),
        )
    )
    scores = {row.id: _best(row) for row in rows}
    found = {
        each: [scores[evaluation] for evaluation in candidates if evaluation in scores]
        for each, candidates in best.items()
    }
    return {
        each: max(known, key=lambda score: (score.mean, score.samples, score.evaluation_id))
        for each, known in found.items()
        if known
    }


def _ids_of(connection: Connection, caller: Caller) -> list[str]:
    """The ids of the owners whose private evaluations the caller sees."""
    mine = select(owners.c.id).where(owners.c.slug.in_(sorted(caller.reads)))
    return list(connection.execute(mine).scalars())


def _best(row: Row[Any]) -> BestScore:
    run = _read(row.stated).prime_run or _Run()
    return BestScore(
        evaluation_id=row.id,
        model=row.model_name or "unnamed",
        owner=row.owner,
        samples=row.sample_count,
        mean=row.average_reward,
        interval=_interval(row, run.reward),
    )


def _metadata() -> Label[str]:
    """The metadata, or `{}` if it is too long."""
    size = func.length(evaluations.c.metadata)
    return case((size <= _LONGEST_METADATA, evaluations.c.metadata), else_="{}").label("stated")


def _read(text: str) -> _Metadata:
    try:
        return msgspec.json.decode(text, type=_Metadata)
    except msgspec.DecodeError:
        return _Metadata()


def _rank(row: LeaderboardRow) -> tuple[float, str]:
    return (math.inf if row.mean is None else -row.mean, row.model)


def _row(row: Row[Any]) -> LeaderboardRow:
    stated = _read(row.stated)
    summary = summarize(row)
    own, run = stated.prime or _Own(), stated.prime_run or _Run()
    usage = own.usage or _Usage()
    errors = summary.errors if summary else 0
    return LeaderboardRow(
        evaluation_id=row.id,
        name=row.name,
        model=row.model_name or "unnamed",
        version=row.semantic_version or "",
        mean=row.average_reward,
        interval=_interval(row, run.reward),
        examples=run.examples or stated.num_examples,
        rollouts=stated.rollouts_per_example,
        samples=row.sample_count,
        errors=errors,
        with_errors=_with_errors(summary),
        cost=own.cost,
        tokens=None if usage.output is None else int((usage.input or 0) + usage.output),
        date=row.finished_at,
        owner=row.owner,
    )


class _Totals(msgspec.Struct):
    """The one figure of a summary that is read here."""

    interval: tuple[float, float] | None = None


def _interval(row: Row[Any], reward: _Reward | None) -> tuple[float, float] | None:
    """What the run says, if its mean is that of the samples here; else what they say."""
    mean = row.average_reward
    if reward and reward.interval and reward.mean is not None and mean is not None:
        low, high = reward.interval
        if math.isclose(reward.mean, mean, abs_tol=_CLOSE) and low <= mean <= high:
            return reward.interval
    return msgspec.json.decode(row.summary or "{}", type=_Totals).interval


def _with_errors(summary: EvaluationSummary | None) -> float | None:
    """The mean with errors counted as 0; None without errors or rewards."""
    reward = summary.metrics.get("reward") if summary else None
    if summary is None or reward is None or reward.mean is None or not summary.errors:
        return None
    return reward.mean * reward.count / max(summary.samples, reward.count)
