"""The samples of an evaluation for its pages, which commands have no use for."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import msgspec
from msgspec import Struct
from sqlalchemy import ColumnElement, Connection, Row, select

from prime_cli.core.errors import NotFound, UsageError
from prime_cli.hub.context import Caller, Hub
from prime_cli.hub.db.tables import evaluations, samples
from prime_cli.hub.services.evaluations import queries
from prime_cli.hub.services.evaluations.cache import Cache
from prime_cli.hub.services.evaluations.sample_queries import find_rows
from prime_cli.pages.evaluation import EvaluationSamples, Overview
from prime_cli.pages.samples import count_errors
from prime_cli.runs.sample_lines import SampleLine
from prime_cli.wire.codec import decode
from prime_cli.wire.evaluations import EvaluationDetail, SampleQuery

_DRAWN = 10_000
_DRAWN_METRICS = 2_000
_FAILED = 200
_LARGEST_FAILED = 32 * 1024
_LINE = (samples.c.number, samples.c.identity, samples.c.reward, samples.c.failed)
_SCORES = msgspec.json.Decoder(dict[str, float])


def read_page(
    hub: Hub, caller: Caller, evaluation_id: str, query: SampleQuery
) -> tuple[EvaluationDetail, EvaluationSamples]:
    """An evaluation, a page of samples without their bodies, and an overview, of one moment.

    Raises NotFound.
    """
    while True:
        with hub.database.read() as connection:
            evaluation = queries.find_evaluation(connection, caller, evaluation_id)
            environments = connection.execute(queries.select_evaluated([evaluation.id])).all()
            rows, total = find_rows(connection, evaluation, query)
            mine = samples.c.evaluation_id == evaluation.id
            numbers = [row.number for row in rows]
            shown = _lines(connection, mine, samples.c.number.in_(numbers))
        # Without a connection, since it may wait for another thread to compute the same.
        with suppress(_Changed):
            overview = _overviews.get(_state_of(evaluation), partial(_overview, hub, evaluation))
            detail = queries.describe_evaluation(hub, evaluation, environments)
            return detail, EvaluationSamples(shown, total, overview)


_overviews: Cache[Overview] = Cache(64)
"""Those of the first thousands of samples, until these change."""


class _Changed(Exception):
    """Samples came or were replaced since an evaluation was read."""


def _state_of(evaluation: Row[Any]) -> tuple[Any, ...]:
    """Every push writes another."""
    return evaluation.id, evaluation.updated_at, evaluation.sample_count, evaluation.summary


def _overview(hub: Hub, evaluation: Row[Any]) -> Overview:
    """That of the samples of an evaluation; raises _Changed."""
    count = evaluation.sample_count
    mine = samples.c.evaluation_id == evaluation.id
    summary = queries.summarize(evaluation)
    errors = summary.errors if summary is not None else 0
    scores = select(samples.c.scores).where(mine, samples.c.number <= _DRAWN_METRICS)
    now = select(evaluations).where(evaluations.c.id == evaluation.id)
    with hub.database.read() as connection:
        row = connection.execute(now).one_or_none()
        if row is None or _state_of(row) != _state_of(evaluation):
            raise _Changed
        every = _lines(connection, mine, samples.c.number <= _DRAWN)
        texts = connection.execute(scores.order_by(samples.c.number)).scalars().all()
        kinds = count_errors(_errors(connection, mine)) if errors else []
    return Overview.of(every, _columns(texts), total=count, errors=errors, kinds=kinds)


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
        evaluation = queries.find_evaluation(connection, caller, evaluation_id)
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
