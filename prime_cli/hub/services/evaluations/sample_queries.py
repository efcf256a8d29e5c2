"""The results of evaluations: samples page by page, and their history by version."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import Struct
from sqlalchemy import ColumnElement, Connection, Row, Select, desc, func, or_, select

from prime_cli.core.errors import NotFound
from prime_cli.core.refs import EnvRef
from prime_cli.hub.context import Caller, Hub
from prime_cli.hub.db.tables import evaluated, evaluations, owners, samples
from prime_cli.hub.services.access import find_environment
from prime_cli.hub.services.evaluations.queries import find_evaluation, finished_conditions
from prime_cli.hub.services.evaluations.standings import find_best
from prime_cli.wire.codec import encode
from prime_cli.wire.evaluations import (
    EvaluationHistory,
    HistoryGroup,
    HistoryPoint,
    HistoryQuery,
    SampleQuery,
)

# --- Pages of samples ---

_PART_BYTES = 4 * 1024 * 1024

_SELECT: Select[Any] = select(samples.c.number, samples.c.size)


class SampleSlice(Struct, frozen=True):
    """A page: numbers of samples in `parts`, and the total on all pages."""

    evaluation_id: str
    parts: tuple[tuple[int, ...], ...]
    total: int


def find_samples(hub: Hub, caller: Caller, evaluation_id: str, query: SampleQuery) -> SampleSlice:
    """The numbers of the samples on a page; raises NotFound.

    Numbers have no gaps, so they locate any page without filters. With filters it is counted off in
    an index, and only `search` reads the samples' bodies.
    """
    with hub.database.read() as connection:
        evaluation = find_evaluation(connection, caller, evaluation_id)
        rows, total = find_rows(connection, evaluation, query)
    return SampleSlice(evaluation.id, tuple(_parts(rows)), total)


def read_bodies(hub: Hub, evaluation_id: str, numbers: Sequence[int]) -> bytes:
    """The JSON of samples in order, comma-separated.

    Raises NotFound if the evaluation was deleted since they were found.
    """
    return b",".join(read_samples(hub, evaluation_id, numbers))


def read_samples(hub: Hub, evaluation_id: str, numbers: Sequence[int]) -> list[bytes]:
    """The same, one by one."""
    with hub.database.read() as connection:
        bodies = connection.execute(
            select(samples.c.body)
            .where(samples.c.evaluation_id == evaluation_id, samples.c.number.in_(numbers))
            .order_by(samples.c.number)
        ).scalars()
        found = [body.encode() for body in bodies]
    if len(found) != len(numbers):
        raise NotFound(f"Evaluation `{evaluation_id}` not found")
    return found


def read_numbers(connection: Connection, evaluation_id: str) -> Iterator[tuple[int, ...]]:
    """The numbers of all samples of an evaluation, in groups as on a page."""
    wanted = samples.c.evaluation_id == evaluation_id
    rows = connection.execute(_SELECT.where(wanted).order_by(samples.c.number)).all()
    return _parts(rows)


def find_rows(
    connection: Connection, evaluation: Row[Any], query: SampleQuery
) -> tuple[Sequence[Row[Any]], int]:
    """The numbers and sizes of the samples on a page, and the total on all pages."""
    if query.is_filtered:
        return _filtered(connection, evaluation.id, query)
    return _dense(connection, evaluation.id, query), evaluation.sample_count


def _dense(connection: Connection, evaluation_id: str, query: SampleQuery) -> Sequence[Row[Any]]:
    start = (query.page - 1) * query.limit
    return connection.execute(
        _SELECT.where(
            samples.c.evaluation_id == evaluation_id,
            samples.c.number > start,
            samples.c.number <= start + query.limit,
        ).order_by(samples.c.number)
    ).all()


def _filtered(
    connection: Connection, evaluation_id: str, query: SampleQuery
) -> tuple[Sequence[Row[Any]], int]:
    wanted = [samples.c.evaluation_id == evaluation_id, *sample_conditions(query)]
    total = connection.execute(select(func.count()).select_from(samples).where(*wanted))
    rows = connection.execute(
        _SELECT.where(*wanted)
        .order_by(samples.c.number)
        .limit(query.limit)
        .offset((query.page - 1) * query.limit)
    )
    return rows.all(), total.scalar_one()


def sample_conditions(query: SampleQuery) -> list[ColumnElement[bool]]:
    """What the filters of a query ask of a sample."""
    wanted: list[ColumnElement[bool]] = []
    if query.reward_above is not None:
        wanted.append(samples.c.reward > query.reward_above)
    if query.reward_below is not None:
        wanted.append(samples.c.reward < query.reward_below)
    if query.errors_only:
        wanted.append(samples.c.failed)
    if query.search is not None:
        wanted.append(or_(*(_contains(text) for text in _as_json(query.search))))
    return wanted


def _contains(text: str) -> ColumnElement[bool]:
    return samples.c.body.icontains(text, autoescape=True)


def _as_json(text: str) -> set[str]:
    r"""`text` inside JSON: unchanged, or with `\uXXXX` for anything beyond ASCII."""
    return {encode(text).decode()[1:-1], json.dumps(text)[1:-1]}


def _parts(rows: Sequence[Row[Any]]) -> Iterator[tuple[int, ...]]:
    """Numbers in groups of at most 4 MiB, or of one sample that is larger."""
    part: list[int] = []
    size = 0
    for row in rows:
        if part and size + row.size > _PART_BYTES:
            yield tuple(part)
            part, size = [], 0
        part.append(row.number)
        size += row.size
    if part:
        yield tuple(part)


# --- Finished evaluations of one environment: each one, and grouped by version and model ---

_MOST_GROUPS = 1000
_SAMPLES = func.sum(evaluations.c.sample_count)


def list_history(hub: Hub, caller: Caller, ref: EnvRef, query: HistoryQuery) -> EvaluationHistory:
    """The visible finished evaluations of an environment, newest first.

    Groups are over all pages, those with the newest evaluation first, at most 1,000 of them. Raises
    NotFound for an environment that the caller does not see.
    """
    with hub.database.read() as connection:
        environment = find_environment(connection, caller, ref)
        wanted = history_conditions(caller, environment.id, query)
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
        total = connection.execute(
            _joined(func.count(evaluations.c.id.distinct())).where(*wanted)
        ).scalar_one()
        best = find_best(connection, caller, [environment.id])
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
        best=best.get(environment.id),
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


def history_conditions(
    caller: Caller, environment_id: str, query: HistoryQuery
) -> list[ColumnElement[bool]]:
    """The conditions for finished evaluations of an environment that the caller sees."""
    wanted = [evaluated.c.environment_id == environment_id, *finished_conditions(caller)]
    if query.model_name:
        wanted.append(evaluations.c.model_name == query.model_name)
    if query.version:
        wanted.append(evaluated.c.semantic_version == query.version)
    if query.receipts:
        wanted.append(evaluations.c.receipt_valid.is_(True))
    return wanted
