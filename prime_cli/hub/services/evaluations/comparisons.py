"""Evaluations beside each other: whether they differ, also neighbours on a leaderboard, by the
statistics of `prime eval compare`; and their rollouts of one example.
"""

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from math import fsum
from typing import Any, NamedTuple

import msgspec
from sqlalchemy import and_, func, select

from prime_cli.core.errors import Conflict, NotFound, PrimeError, TooLarge, UsageError
from prime_cli.core.formatting import format_bytes
from prime_cli.core.refs import EnvRef
from prime_cli.hub.context import Caller, Hub
from prime_cli.hub.db.tables import artifacts, samples, versions
from prime_cli.hub.services.evaluations.cache import Cache
from prime_cli.hub.services.evaluations.leaderboard import read_leaderboard
from prime_cli.hub.services.evaluations.queries import get_evaluation
from prime_cli.hub.services.evaluations.sample_pages import read_sample
from prime_cli.pages.comparison import ComparedSides, compare_sides
from prime_cli.pages.evaluation_comparison import (
    FoundSample,
    RolloutsBeside,
    find_titles,
    model_of,
)
from prime_cli.pages.leaderboard import LeaderboardPageRow, Neighbour
from prime_cli.pages.templates import ErrorMessage
from prime_cli.runs.comparison.compare import SEED, require_statistics, verdict_of
from prime_cli.runs.comparison.sides import Example, Side, evaluation_side, gather, pair
from prime_cli.runs.manifest import RunManifest
from prime_cli.runs.pushed_manifest import manifest_of
from prime_cli.runs.rows import Row
from prime_cli.runs.vf_eval_reader import number_of_examples, number_rows
from prime_cli.wire.codec import encode
from prime_cli.wire.evaluations import EvaluationDetail, HistoryQuery

_MOST_SAMPLES = 5_000
"""Of one evaluation, as its bytes; larger ones are left to the command."""
_LARGEST = 8 * 1024 * 1024
_MOST_PAIRS = 20
"""Of one leaderboard, from its top."""

_ReadSide = Callable[[LeaderboardPageRow], Side]


class Rewards(NamedTuple):
    """Those of an evaluation, and the number of each sample by its example and rollout."""

    examples: Mapping[int, Example]
    numbers: Mapping[tuple[int, int], int]


class _Known(NamedTuple):
    side: Side
    rewards: Rewards


_read: Cache[_Known] = Cache(8)
_compared: Cache[ComparedSides] = Cache(32)


def get_evaluations(hub: Hub, caller: Caller, ids: Sequence[str]) -> list[EvaluationDetail]:
    """Everything about these evaluations except their samples; raises NotFound."""
    return [get_evaluation(hub, caller, each) for each in ids]


def list_others(hub: Hub, caller: Caller, detail: EvaluationDetail) -> list[LeaderboardPageRow]:
    """What an evaluation may be compared with: the others on its environment's leaderboard."""
    if not detail.environment_names:
        return []
    try:
        ref = EnvRef.parse(detail.environment_names[0])
        board = read_leaderboard(hub, caller, ref, HistoryQuery())
    except (NotFound, UsageError):  # deleted since
        return []
    return [row for row in board.rows if row.evaluation_id != detail.evaluation_id]


def compare_evaluations(
    hub: Hub, found: Sequence[EvaluationDetail], *, force: bool
) -> ComparedSides:
    """Each evaluation against the first; the caller sees all of them.

    Why they cannot be compared is a problem of the result. Raises NotFound for one that was deleted
    meanwhile.
    """
    state = (force, *(_state(each) for each in found))
    return _compared.get(state, lambda: _compare(hub, found, force=force))


def _compare(hub: Hub, found: Sequence[EvaluationDetail], *, force: bool) -> ComparedSides:
    sides = []
    for each, title in zip(found, find_titles(found), strict=True):
        try:
            sides.append(replace(_known(hub, each).side, run=title))
        except NotFound:
            raise
        except PrimeError as error:
            return ComparedSides(problem=ErrorMessage(f"{title}: {error.message}", error.hint))
    models = [model_of(each) for each in found]
    return compare_sides(sides, models, purpose="Comparing evaluations", force=force)


def read_beside(
    hub: Hub, caller: Caller, found: Sequence[EvaluationDetail], example: int, rollout: int
) -> RolloutsBeside:
    """The rollout of an example in each evaluation, and all rollouts that it has in any.

    Raises NotFound for an evaluation that was deleted meanwhile.
    """
    samples: list[FoundSample | str] = []
    rollouts: set[int] = set()
    for each in found:
        try:
            numbers = _known(hub, each).rewards.numbers
        except NotFound:
            raise
        except PrimeError as error:
            samples.append(error.message)
            continue
        rollouts.update(known for of, known in numbers if of == example)
        number = numbers.get((example, rollout))
        samples.append(
            "This evaluation has no such rollout"
            if number is None
            else FoundSample(*read_sample(hub, caller, each.evaluation_id, number))
        )
    return RolloutsBeside(samples, sorted(rollouts))


def _known(hub: Hub, detail: EvaluationDetail) -> _Known:
    """What a comparison needs of an evaluation; raises as `_read_rewards`."""
    return _read.get(_state(detail), lambda: _read_side(hub, detail))


def _state(detail: EvaluationDetail) -> bytes:
    """Changes with all that is known of an evaluation, and every push changes that."""
    return hashlib.sha256(encode(detail)).digest()


def _read_side(hub: Hub, detail: EvaluationDetail) -> _Known:
    examples = number_of_examples(detail.metadata, lambda: detail.total_samples)
    rewards = _read_rewards(hub, detail.evaluation_id, detail.total_samples, examples)
    side = evaluation_side(detail, _manifest(detail), rewards.examples)
    return _Known(replace(side, sha256=side.sha256 or _wheel(hub, detail)), rewards)


def _manifest(detail: EvaluationDetail) -> RunManifest | None:
    try:
        return manifest_of(detail)
    except UsageError:  # anybody may push anything; without it, less is known of the settings
        return None


def _wheel(hub: Hub, detail: EvaluationDetail) -> str | None:
    """The SHA-256 of the evaluated version's wheel, if it still exists."""
    wanted = (
        select(artifacts.c.sha256)
        .join(versions, versions.c.wheel_id == artifacts.c.id)
        .where(versions.c.id == detail.version_id)
    )
    with hub.database.read() as connection:
        found: str | None = connection.execute(wanted).scalar()
    return found


class _Sample(msgspec.Struct):
    """What a comparison reads of a sample."""

    example_id: Any = None
    id: Any = None
    rollout_number: Any = None
    reward: Any = None
    error: Any = None
    prompt: Any = None
    answer: Any = None


def _read_rewards(hub: Hub, evaluation_id: str, count: int, examples: int | None) -> Rewards:
    """Read the first `count` samples of an evaluation, which says it has so many `examples`.

    Raises TooLarge, UsageError for samples that cannot be read, and NotFound for an evaluation that
    was deleted meanwhile.
    """
    if count > _MOST_SAMPLES:
        raise TooLarge(
            f"{count:,} samples are more than the {_MOST_SAMPLES:,} that a page compares"
        )
    mine = and_(samples.c.evaluation_id == evaluation_id, samples.c.number <= count)
    every = select(samples.c.number, samples.c.body).where(mine).order_by(samples.c.number)
    with hub.database.read() as connection:
        size = connection.execute(select(func.sum(samples.c.size)).where(mine)).scalar() or 0
        if size > _LARGEST:
            raise TooLarge(
                f"Samples of {format_bytes(size)} are more than the {format_bytes(_LARGEST)} that "
                "a page compares"
            )
        found = connection.execute(every).all()
    if len(found) < count:
        raise NotFound(f"Evaluation `{evaluation_id}` not found")
    numbers: dict[tuple[int, int], int] = {}

    def numbered() -> Iterator[Row]:
        decoder = msgspec.json.Decoder(_Sample)
        lines = (msgspec.to_builtins(decoder.decode(sample.body)) for sample in found)
        rows = number_rows(lines, examples or max(1, count))
        for sample, row in zip(found, rows, strict=True):
            numbers[row.example_id, row.rollout] = sample.number
            yield row

    try:
        return Rewards(gather(numbered()), numbers)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise UsageError(f"The samples cannot be read: {error}") from error


class _Difference(NamedTuple):
    """The mean difference of two evaluations and its p-value; `reason` where there is none."""

    mean: float = 0.0
    p: float | None = None
    reason: str = ""


def compare_neighbours(hub: Hub, rows: Sequence[LeaderboardPageRow]) -> dict[str, Neighbour]:
    """By the id of an evaluation, how it compares with the next one of its version in `rows`.

    `rows` are those of a leaderboard, of whom the caller sees all. Raises UsageError without scipy.
    """
    require_statistics("Comparing evaluations")
    from prime_cli.runs.statistics.effect import holm

    pairs = list(_pairs(rows))[:_MOST_PAIRS]
    # Most rows are the lower one of a pair and the upper one of the next.
    read = lru_cache(maxsize=2)(partial(_read_row, hub))
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


def _pairs(
    rows: Sequence[LeaderboardPageRow],
) -> Iterator[tuple[LeaderboardPageRow, LeaderboardPageRow]]:
    """Each row and the next of the same version: scores of two versions may not be comparable."""
    ranked = [row for row in rows if row.mean is not None and not row.is_baseline]
    for at, row in enumerate(ranked):
        below = (each for each in ranked[at + 1 :] if each.version == row.version)
        if lower := next(below, None):
            yield row, lower


_differences: Cache[_Difference] = Cache(512)


def _difference(
    read: _ReadSide, upper: LeaderboardPageRow, lower: LeaderboardPageRow
) -> _Difference:
    """From the lower to the upper, kept until one of them changes."""
    state = tuple(
        (each.evaluation_id, each.date, each.samples, each.errors, each.mean)
        for each in (upper, lower)
    )
    return _differences.get(state, lambda: _compare_pair(read, upper, lower))


def _compare_pair(
    read: _ReadSide, upper: LeaderboardPageRow, lower: LeaderboardPageRow
) -> _Difference:
    try:
        return _compare_read(read(upper), read(lower))
    except TooLarge:
        return _Difference(reason="too large to be compared on a page")
    except UsageError:
        return _Difference(reason="their samples cannot be read")


def _compare_read(upper: Side, lower: Side) -> _Difference:
    from prime_cli.runs.statistics.effect import p_value

    try:
        pairs = pair(lower, upper)
    except Conflict:
        return _Difference(reason="they had different examples")
    mean = fsum(pairs.differences) / len(pairs.ids)
    return _Difference(mean, p_value(pairs, seed=SEED))


def _read_row(hub: Hub, row: LeaderboardPageRow) -> Side:
    found = _read_rewards(hub, row.evaluation_id, row.samples, row.examples)
    return Side(run=row.evaluation_id, environment="", model=row.model, examples=found.examples)
