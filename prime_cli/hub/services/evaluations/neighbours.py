"""Which neighbours on a leaderboard differ, by the statistics of `prime eval compare`."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache, partial
from math import fsum
from typing import Any, NamedTuple

import msgspec
from sqlalchemy import func, select

from prime_cli.core.errors import Conflict
from prime_cli.hub.context import Hub
from prime_cli.hub.db.tables import samples
from prime_cli.hub.services.evaluations.sample_queries import read_numbers, read_samples
from prime_cli.pages.leaderboard import LeaderboardRow, Neighbour
from prime_cli.runs.comparison.compare import SEED, require_statistics, verdict_of
from prime_cli.runs.comparison.sides import Side, gather, pair
from prime_cli.runs.vf_eval_reader import number_rows

_MOST_PAIRS = 20
"""Of one leaderboard, from its top."""
_LARGEST = 8 * 1024 * 1024
_MOST_SAMPLES = 5_000
"""Of one evaluation, as its bytes; larger ones are left to the command."""
_KEPT = 512


ReadSide = Callable[[LeaderboardRow], Side | None]


class _Sample(msgspec.Struct):
    """What a comparison reads of a sample."""

    example_id: Any = None
    id: Any = None
    rollout_number: Any = None
    reward: Any = None
    error: Any = None
    prompt: Any = None
    answer: Any = None


class _Difference(NamedTuple):
    """The mean difference of two evaluations and its p-value; `reason` where there is none."""

    mean: float = 0.0
    p: float | None = None
    reason: str = ""


def compare_neighbours(hub: Hub, rows: Sequence[LeaderboardRow]) -> dict[str, Neighbour]:
    """By the id of an evaluation, how it compares with the next one of its version in `rows`.

    `rows` are those of a leaderboard, of whom the caller sees all. Raises UsageError without scipy.
    """
    require_statistics("Comparing evaluations")
    from prime_cli.statistics.effect import holm

    pairs = list(_pairs(rows))[:_MOST_PAIRS]
    # Most rows are the lower one of a pair and the upper one of the next.
    read = lru_cache(maxsize=2)(partial(_read_side, hub))
    found = [_difference(read, upper, lower) for upper, lower in pairs]
    adjusted = iter(holm([each.p for each in found if each.p is not None]))
    neighbours = {}
    for (upper, lower), each in zip(pairs, found, strict=True):
        neighbour = Neighbour(lower.model, reason=each.reason)
        if each.p is not None:
            p = next(adjusted)
            neighbour = Neighbour(lower.model, verdict_of(each.mean, p), p)
        neighbours[upper.evaluation_id] = neighbour
    return neighbours


def _pairs(rows: Sequence[LeaderboardRow]) -> Iterator[tuple[LeaderboardRow, LeaderboardRow]]:
    """Each row and the next of the same version: scores of two versions may not be comparable."""
    for at, row in enumerate(rows):
        below = (each for each in rows[at + 1 :] if each.version == row.version)
        lower = next(below, None)
        if lower is not None and row.mean is not None and lower.mean is not None:
            yield row, lower


_guard = threading.Lock()
_differences: OrderedDict[tuple[Any, ...], _Difference] = OrderedDict()


def _difference(read: ReadSide, upper: LeaderboardRow, lower: LeaderboardRow) -> _Difference:
    """From the lower to the upper, kept until one of them changes."""
    state = tuple(
        (each.evaluation_id, each.date, each.samples, each.errors, each.mean)
        for each in (upper, lower)
    )
    with _guard:
        known = _differences.get(state)
        if known is not None:
            _differences.move_to_end(state)
            return known
    try:
        found = _compare(read(upper), read(lower))
    except (msgspec.MsgspecError, ValueError, RecursionError):
        found = _Difference(reason="their samples cannot be read")
    with _guard:
        _differences[state] = found
        while len(_differences) > _KEPT:
            _differences.popitem(last=False)
    return found


def _compare(upper: Side | None, lower: Side | None) -> _Difference:
    from prime_cli.statistics.effect import p_value

    if lower is None or upper is None:
        return _Difference(reason="too large to be compared on a page")
    try:
        pairs = pair(lower, upper)
    except Conflict:
        return _Difference(reason="they had different examples")
    mean = fsum(pairs.differences) / len(pairs.ids)
    return _Difference(mean, p_value(pairs, seed=SEED))


def _read_side(hub: Hub, row: LeaderboardRow) -> Side | None:
    """The rewards of an evaluation by example; None if it is too large."""
    if row.samples > _MOST_SAMPLES:
        return None
    with hub.database.read() as connection:
        mine = samples.c.evaluation_id == row.evaluation_id
        size = connection.execute(select(func.sum(samples.c.size)).where(mine)).scalar() or 0
        if size > _LARGEST:
            return None
        parts = list(read_numbers(connection, row.evaluation_id))
    bodies = (body for part in parts for body in read_samples(hub, row.evaluation_id, part))
    decoder = msgspec.json.Decoder(_Sample)
    lines = (msgspec.to_builtins(decoder.decode(body)) for body in bodies)
    examples = gather(number_rows(lines, row.examples or max(1, row.samples)))
    return Side(run=row.evaluation_id, environment="", model=row.model, examples=examples)
