"""The samples of an evaluation for its pages, which commands have no use for."""

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
from msgspec import Struct
from sqlalchemy import ColumnElement, Connection, Row, and_, select

from prime_cli.core.errors import NotFound, UsageError
from prime_cli.hub.context import Caller, Hub
from prime_cli.hub.db.tables import samples
from prime_cli.hub.services.evaluations.cache import Cache
from prime_cli.hub.services.evaluations.queries import find_evaluation, summarize
from prime_cli.hub.services.evaluations.sample_queries import find_rows
from prime_cli.pages.overview import EvaluationSamples, Overview
from prime_cli.pages.samples import count_errors
from prime_cli.runs.sample_lines import SampleLine
from prime_cli.wire.codec import decode
from prime_cli.wire.evaluations import SampleQuery

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
        rows, total = find_rows(connection, evaluation, query)
        mine = samples.c.evaluation_id == evaluation.id
        numbers = [row.number for row in rows]
        shown = _lines(connection, mine, samples.c.number.in_(numbers))
    # Without a connection, since it may wait for another thread to compute the same.
    return EvaluationSamples(shown, total, _overview_of(hub, evaluation))


_overviews: Cache[Overview] = Cache(64)


def _overview_of(hub: Hub, evaluation: Row[Any]) -> Overview:
    """The overview, kept until samples change: every push writes what it is kept under."""
    state = (evaluation.id, evaluation.updated_at, evaluation.sample_count, evaluation.summary)
    return _overviews.get(state, lambda: _overview(hub, evaluation))


def _overview(hub: Hub, evaluation: Row[Any]) -> Overview:
    """That of the samples which the evaluation had when its row was read."""
    count = evaluation.sample_count
    mine = and_(samples.c.evaluation_id == evaluation.id, samples.c.number <= count)
    summary = summarize(evaluation)
    errors = summary.errors if summary is not None else 0
    scores = select(samples.c.scores).where(mine, samples.c.number <= _DRAWN_METRICS)
    with hub.database.read() as connection:
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
