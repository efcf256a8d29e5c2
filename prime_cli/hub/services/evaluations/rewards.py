"""The rewards of an evaluation by example, as a comparison needs them."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import msgspec
from sqlalchemy import and_, func, select

from prime_cli.core.errors import NotFound, TooLarge, UsageError
from prime_cli.core.formatting import format_bytes
from prime_cli.hub.context import Hub
from prime_cli.hub.db.tables import samples
from prime_cli.runs.comparison.sides import Example, gather
from prime_cli.runs.rows import Row
from prime_cli.runs.vf_eval_reader import number_rows

MOST_SAMPLES = 5_000
"""Of one evaluation, as its bytes; larger ones are left to the command."""
_LARGEST = 8 * 1024 * 1024


class Rewards(NamedTuple):
    """Those of an evaluation, and the number of each sample by its example and rollout."""

    examples: Mapping[int, Example]
    numbers: Mapping[tuple[int, int], int]


class _Sample(msgspec.Struct):
    """What a comparison reads of a sample."""

    example_id: Any = None
    id: Any = None
    rollout_number: Any = None
    reward: Any = None
    error: Any = None
    prompt: Any = None
    answer: Any = None


def read_rewards(hub: Hub, evaluation_id: str, count: int, examples: int | None) -> Rewards:
    """Read the first `count` samples of an evaluation, which says it has so many `examples`.

    Raises TooLarge, UsageError for samples that cannot be read, and NotFound for an evaluation that
    was deleted meanwhile.
    """
    if count > MOST_SAMPLES:
        raise TooLarge(f"{count:,} samples are more than the {MOST_SAMPLES:,} that a page compares")
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
