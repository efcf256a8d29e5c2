"""The leaderboard of an environment: its newest evaluation by each owner, model and version."""

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
from sqlalchemy import ColumnElement, Connection, Row, Subquery, and_, case, func, select

from prime_cli.core.builtin_models import BUILT_IN, SMOLLM2
from prime_cli.core.refs import EnvRef
from prime_cli.hub.context import Caller, Hub
from prime_cli.hub.db.tables import environments, evaluated, evaluations, owners
from prime_cli.hub.services.access import find_environment
from prime_cli.hub.services.evaluations.queries import describe_receipt, summarize
from prime_cli.hub.services.evaluations.sample_queries import history_conditions
from prime_cli.hub.services.evaluations.standings import (
    NOT_LATEST,
    choose_interval,
    select_metadata,
)
from prime_cli.pages.leaderboard import LeaderboardPage, LeaderboardPageRow
from prime_cli.wire.evaluations import EvaluationSummary, HistoryQuery

_MOST = 300
"""Rows, and names to choose from."""
_JOINED = evaluated.join(evaluations, evaluated.c.evaluation_id == evaluations.c.id).join(
    owners, evaluations.c.owner_id == owners.c.id
)
_IS_BASELINE = and_(
    evaluations.c.model_name.startswith(BUILT_IN, autoescape=True),
    evaluations.c.model_name != SMOLLM2,
)


class _Usage(msgspec.Struct):
    input: float | None = None
    output: float | None = None


class _Own(msgspec.Struct):
    usage: _Usage | None = None
    cost: float | None = None


class _Run(msgspec.Struct):
    examples: int | None = None


class _Metadata(msgspec.Struct):
    """What a run says of itself, as `prime eval push` writes it; anybody may write anything."""

    rollouts_per_example: int | None = None
    num_examples: int | None = None
    prime: _Own | None = None
    prime_run: _Run | None = None


def read_leaderboard(
    hub: Hub, caller: Caller, ref: EnvRef, query: HistoryQuery, *, most: int = _MOST
) -> LeaderboardPage:
    """The newest visible finished evaluation by each owner, model and version.

    The latest version comes first, and each has the highest lower end of an interval first;
    baselines come after all versions.

    Raises NotFound for an environment that the caller does not see.
    """
    columns = [each for each in evaluations.c if each.name not in ("metadata", "tags", "metrics")]
    with hub.database.read() as connection:
        environment = find_environment(connection, caller, ref)
        newest = _newest(history_conditions(caller, environment.id, query))
        rows: Sequence[Any] = connection.execute(
            select(
                *columns,
                select_metadata(),
                owners.c.slug.label("owner"),
                newest.c.semantic_version,
            )
            .join(newest, newest.c.id == evaluations.c.id)
            .join(owners, evaluations.c.owner_id == owners.c.id)
            .where(newest.c.place == 1)
            .order_by(*_rank(newest))
            .limit(most + 1)
        ).all()
        every = history_conditions(caller, environment.id, HistoryQuery())
        models = _names(connection, evaluations.c.model_name, every)
        versions = _names(connection, evaluated.c.semantic_version, every)
    ranked = [_row(row) for row in rows[:most]]
    return LeaderboardPage(ranked, models, versions, is_cut=len(rows) > most)


def _rank(newest: Subquery) -> tuple[ColumnElement[Any], ...]:
    """The order of `rank_key`, in which versions are apart."""
    has_mean = evaluations.c.average_reward.is_not(None)
    return (
        case((and_(has_mean, _IS_BASELINE), 1), (has_mean, 0), else_=2),
        newest.c.not_latest,
        newest.c.version_number.desc(),
        newest.c.semantic_version,
        newest.c.lower_bound.desc().nulls_last(),
        evaluations.c.average_reward.desc(),
        evaluations.c.id.desc(),
    )


def _newest(conditions: Iterable[ColumnElement[bool]]) -> Subquery:
    """Evaluations, and as `place` 1 for the newest of its owner, model and version."""
    of_whom = (evaluations.c.owner_id, evaluations.c.model_name, evaluated.c.semantic_version)
    newest_first = (evaluations.c.finished_at.desc(), evaluations.c.id)
    place = func.row_number().over(partition_by=of_whom, order_by=newest_first)
    return (
        select(
            evaluations.c.id,
            evaluated.c.semantic_version,
            evaluated.c.version_number,
            evaluated.c.lower_bound,
            NOT_LATEST.label("not_latest"),
            place.label("place"),
        )
        .select_from(_JOINED)
        .join(environments, evaluated.c.environment_id == environments.c.id)
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


def _read(text: str) -> _Metadata:
    try:
        return msgspec.json.decode(text, type=_Metadata)
    except msgspec.DecodeError:
        return _Metadata()


def _row(row: Row[Any]) -> LeaderboardPageRow:
    stated = _read(row.stated)
    summary = summarize(row)
    own, run = stated.prime or _Own(), stated.prime_run or _Run()
    usage = own.usage or _Usage()
    errors = summary.errors if summary else 0
    return LeaderboardPageRow(
        evaluation_id=row.id,
        name=row.name,
        model=row.model_name or "unnamed",
        version=row.semantic_version or "",
        mean=row.average_reward,
        interval=choose_interval(row),
        examples=run.examples or stated.num_examples,
        rollouts=stated.rollouts_per_example,
        samples=row.sample_count,
        errors=errors,
        with_errors=_with_errors(summary),
        cost=own.cost,
        tokens=None if usage.output is None else int((usage.input or 0) + usage.output),
        date=row.finished_at,
        owner=row.owner,
        receipt=describe_receipt(row),
    )


def _with_errors(summary: EvaluationSummary | None) -> float | None:
    """The mean with errors counted as 0; None without errors or rewards."""
    reward = summary.metrics.get("reward") if summary else None
    if summary is None or reward is None or reward.mean is None or not summary.errors:
        return None
    return reward.mean * reward.count / max(summary.samples, reward.count)
