"""The results of evaluations: samples page by page, and their history by version."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
from msgspec import Struct
from sqlalchemy import ColumnElement, Connection, Row, Select, desc, func, or_, select

from prime_cli.core.errors import NotFound, UsageError
from prime_cli.core.refs import EnvRef
from prime_cli.hub.context import Caller, Hub
from prime_cli.hub.db.tables import evaluated, evaluations, owners, samples
from prime_cli.hub.services.access import find_environment
from prime_cli.hub.services.evaluations.cache import Cache
from prime_cli.hub.services.evaluations.queries import find_evaluation, summarize, visible_to
from prime_cli.pages.evaluation import EvaluationSamples, Overview, SampleLine
from prime_cli.pages.samples import count_errors
from prime_cli.wire.codec import decode, encode
from prime_cli.wire.evaluations import (
    COMPLETED,
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
        if query.is_filtered:
            rows, total = _filtered(connection, evaluation.id, query)
        else:
            rows, total = _dense(connection, evaluation.id, query), evaluation.sample_count
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
    wanted = [samples.c.evaluation_id == evaluation_id, *_conditions(query)]
    total = connection.execute(select(func.count()).select_from(samples).where(*wanted))
    rows = connection.execute(
        _SELECT.where(*wanted)
        .order_by(samples.c.number)
        .limit(query.limit)
        .offset((query.page - 1) * query.limit)
    )
    return rows.all(), total.scalar_one()


def _conditions(query: SampleQuery) -> list[ColumnElement[bool]]:
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


# --- For pages ---

_DRAWN = 10_000
_DRAWN_METRICS = 2_000
_FAILED = 200
_LARGEST_FAILED = 32 * 1024
_LINE = (samples.c.number, samples.c.identity, samples.c.reward, samples.c.failed)
_SCORES = msgspec.json.Decoder(dict[str, float])


def list_samples(
    hub: Hub, caller: Caller, evaluation_id: str, query: SampleQuery
) -> EvaluationSamples:
    """A page of samples without their bodies, and the overview of the first thousands.

    Raises NotFound.
    """
    with hub.database.read() as connection:
        evaluation = find_evaluation(connection, caller, evaluation_id)
        rows, total = _dense(connection, evaluation.id, query), evaluation.sample_count
        if query.is_filtered:
            rows, total = _filtered(connection, evaluation.id, query)
        mine = samples.c.evaluation_id == evaluation.id
        numbers = [row.number for row in rows]
        shown = _lines(connection, mine, samples.c.number.in_(numbers))
        return EvaluationSamples(shown, total, _overview_of(connection, evaluation))


_overviews: Cache[Overview] = Cache(64)


def _overview_of(connection: Connection, evaluation: Row[Any]) -> Overview:
    """The overview, kept until samples change: every push writes what it is kept under."""
    state = (evaluation.id, evaluation.updated_at, evaluation.sample_count, evaluation.summary)
    return _overviews.get(state, lambda: _overview(connection, evaluation))


def _overview(connection: Connection, evaluation: Row[Any]) -> Overview:
    mine = samples.c.evaluation_id == evaluation.id
    every = _lines(connection, mine, samples.c.number <= _DRAWN)
    scores = select(samples.c.scores).where(mine, samples.c.number <= _DRAWN_METRICS)
    texts = connection.execute(scores.order_by(samples.c.number)).scalars().all()
    summary = summarize(evaluation)
    errors = summary.errors if summary is not None else 0
    kinds = count_errors(_errors(connection, mine)) if errors else []
    return Overview.of(
        every, _columns(texts), total=evaluation.sample_count, errors=errors, kinds=kinds
    )


def _errors(connection: Connection, mine: ColumnElement[bool]) -> Iterator[Any]:
    """The errors of the first failed samples that are not too large, and can be read."""
    wanted = mine, samples.c.failed, samples.c.size <= _LARGEST_FAILED
    bodies = select(samples.c.body).where(*wanted).order_by(samples.c.number).limit(_FAILED)
    for body in connection.execute(bodies).scalars():
        try:
            yield decode(body.encode(), _Failed).error
        except UsageError:  # such as 1e999; the page says how many errors it lists
            continue


class _Failed(Struct):
    error: Any = None


def read_sample(
    hub: Hub, caller: Caller, evaluation_id: str, number: int
) -> tuple[SampleLine, bytes, int]:
    """One sample, its JSON, and the number of all; raises NotFound."""
    with hub.database.read() as connection:
        evaluation = find_evaluation(connection, caller, evaluation_id)
        row = connection.execute(
            select(*_LINE, samples.c.body).where(
                samples.c.evaluation_id == evaluation.id, samples.c.number == number
            )
        ).one_or_none()
    if row is None:
        raise NotFound(f"Evaluation `{evaluation_id}` has no sample {number}")
    return SampleLine(*row[:-1]), row.body.encode(), evaluation.sample_count


def _lines(connection: Connection, *wanted: ColumnElement[bool]) -> list[SampleLine]:
    rows = connection.execute(select(*_LINE).where(*wanted).order_by(samples.c.number))
    return [SampleLine(*row) for row in rows]


def _columns(texts: Sequence[str]) -> dict[str, list[float]]:
    """The values of each metric, those of most samples first."""
    found: dict[str, list[float]] = {}
    for text in texts:
        for name, value in _SCORES.decode(text).items():
            found.setdefault(name, []).append(value)
    return dict(sorted(found.items(), key=lambda each: -len(each[1])))


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


def finished_conditions(caller: Caller) -> list[ColumnElement[bool]]:
    """The conditions for finished evaluations that the caller sees."""
    return [evaluations.c.status == COMPLETED, visible_to(caller)]


def history_conditions(
    caller: Caller, environment_id: str, query: HistoryQuery
) -> list[ColumnElement[bool]]:
    """The conditions for finished evaluations of an environment that the caller sees."""
    wanted = [evaluated.c.environment_id == environment_id, *finished_conditions(caller)]
    if query.model_name:
        wanted.append(evaluations.c.model_name == query.model_name)
    if query.version:
        wanted.append(evaluated.c.semantic_version == query.version)
    return wanted
