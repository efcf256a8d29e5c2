"""The figures of an evaluation that are made when it is finished, for pages to read at once."""

from typing import Any

import msgspec
from sqlalchemy import Connection, Row, select

from prime_cli.hub.db.tables import samples
from prime_cli.hub.services.evaluations.statistics import SampleTotals
from prime_cli.pages.evaluation import SampleLine
from prime_cli.statistics.intervals import precision
from prime_cli.wire.codec import decode, encode

_AT_ONCE = 2000
_MOST_SAMPLES = 50_000
"""Of an evaluation whose interval is computed, while others wait to write."""


def figures_of(connection: Connection, row: Row[Any]) -> dict[str, Any]:
    """The columns to set: the totals of all samples, and the interval of their mean.

    Totals are read again only if samples were replaced since they were last made.
    """
    known = None if row.summary is None else decode(row.summary.encode(), SampleTotals)
    tally = known or _totals(connection, row.id)
    if tally.interval is None and row.sample_count <= _MOST_SAMPLES:
        tally.interval = _interval(connection, row.id)
    return {"summary": encode(tally).decode(), "average_reward": tally.mean_reward()}


def _totals(connection: Connection, evaluation_id: str) -> SampleTotals:
    tally = SampleTotals()
    scores = msgspec.json.Decoder(dict[str, float])
    last = 0
    while page := connection.execute(
        select(samples.c.number, samples.c.reward, samples.c.failed, samples.c.scores)
        .where(samples.c.evaluation_id == evaluation_id, samples.c.number > last)
        .order_by(samples.c.number)
        .limit(_AT_ONCE)
    ).all():
        for each in page:
            tally.add(each.reward, scores.decode(each.scores), failed=each.failed)
        last = page[-1].number
    return tally


def _interval(connection: Connection, evaluation_id: str) -> tuple[float, float] | None:
    """That of 95 % around the mean reward, over examples."""
    examples: dict[str, list[float]] = {}
    for row in connection.execute(
        select(samples.c.number, samples.c.identity, samples.c.reward, samples.c.failed)
        .where(samples.c.evaluation_id == evaluation_id, samples.c.reward.is_not(None))
        .order_by(samples.c.number)
    ):
        line = SampleLine(*row)
        examples.setdefault(line.place[0], []).append(row.reward)
    interval = precision(list(examples.values())).interval
    return None if interval is None else (interval.low, interval.high)
