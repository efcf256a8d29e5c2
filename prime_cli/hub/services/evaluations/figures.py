"""The figures of an evaluation that is complete: totals, an interval, and its receipt."""

from typing import Any, NamedTuple

import msgspec
from sqlalchemy import Connection, Row, select

from prime_cli.hub.context import Caller, Hub
from prime_cli.hub.db.tables import samples
from prime_cli.hub.services.evaluations.queries import find_writable
from prime_cli.hub.services.evaluations.statistics import MOST_WITH_INTERVAL, SampleTotals
from prime_cli.runs.rows import LARGEST
from prime_cli.runs.sample_lines import SampleLine
from prime_cli.runs.statistics.intervals import precision
from prime_cli.wire.codec import decode, encode

_AT_ONCE = 2000


class Figures(NamedTuple):
    """The columns to set of an evaluation in `state`."""

    state: tuple[Any, ...]
    columns: dict[str, Any]

    def columns_of(self, connection: Connection, row: Row[Any]) -> dict[str, Any]:
        """Those of `row`, computed again if samples came or were replaced since."""
        return self.columns if self.state == _state_of(row) else _compute(connection, row)


def compute_figures(hub: Hub, caller: Caller, evaluation_id: str) -> Figures:
    """Of the samples there are; others write meanwhile. Raises as `find_writable`."""
    with hub.database.read() as connection:
        row = find_writable(connection, caller, evaluation_id)
        return Figures(_state_of(row), _compute(connection, row))


def _state_of(row: Row[Any]) -> tuple[Any, ...]:
    """Changes with every push."""
    return row.updated_at, row.sample_count, row.summary


def _compute(connection: Connection, row: Row[Any]) -> dict[str, Any]:
    """Totals are read again only if samples were replaced since they were last made."""
    known = None if row.summary is None else decode(row.summary.encode(), SampleTotals)
    tally = known or _totals_of(connection, row.id)
    if tally.interval is None and row.sample_count <= MOST_WITH_INTERVAL:
        tally.interval = _interval_of(connection, row.id)
    # Only the end of an evaluation reads receipts, and every command on the hub loads this.
    from prime_cli.hub.services.evaluations.receipts import check_receipt

    figures = {"summary": encode(tally).decode(), "average_reward": tally.mean_reward()}
    return figures | check_receipt(connection, row)


def _totals_of(connection: Connection, evaluation_id: str) -> SampleTotals:
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


def _interval_of(connection: Connection, evaluation_id: str) -> tuple[float, float] | None:
    """That of 95 % around the mean reward, over examples; of rewards that the mean counts."""
    examples: dict[str, list[float]] = {}
    for row in connection.execute(
        select(samples.c.number, samples.c.identity, samples.c.reward, samples.c.failed)
        .where(
            samples.c.evaluation_id == evaluation_id,
            samples.c.reward.between(-LARGEST, LARGEST),
        )
        .order_by(samples.c.number)
    ):
        line = SampleLine(*row)
        examples.setdefault(line.place[0], []).append(row.reward)
    interval = precision(list(examples.values())).interval
    return None if interval is None else (interval.low, interval.high)
