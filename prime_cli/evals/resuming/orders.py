"""Which rollouts a worker owes, after earlier sessions or after a worker that died."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import groupby

from prime_cli.evals.tally import Attempt, Pair, Tally

GROUP = "group"
"""The unit of environments that score the rollouts of an example together."""


@dataclass(frozen=True)
class Orders:
    """What a worker is told beside the plan.

    `done` need not run; `attempts` are the numbers of the attempts that others begin with, where
    it is not 1. The first `prefix` examples must have `fingerprint`.
    """

    concurrency: int
    done: list[Pair] = field(default_factory=list)
    attempts: dict[Pair, int] = field(default_factory=dict)
    prefix: int = 0
    fingerprint: str | None = None


def scored(tally: Tally, unit: str | None, rollouts: int) -> list[Pair]:
    """The rollouts that a resume leaves alone; of a group all or none."""
    return list(_settled(tally, unit, rollouts, {}, errors=False))


def settled(tally: Tally, unit: str | None, rollouts: int, since: dict[Pair, int]) -> list[Pair]:
    """The same and what ended in an error in this session, whose attempts began at `since`."""
    return list(_settled(tally, unit, rollouts, since, errors=True))


def next_attempts(tally: Tally, done: list[Pair]) -> dict[Pair, int]:
    """The numbers of the attempts that follow, of the rollouts that are not `done`."""
    left_alone = set(done)
    return {last.pair: last.number + 1 for last in tally.attempts() if last.pair not in left_alone}


def _settled(
    tally: Tally, unit: str | None, rollouts: int, since: dict[Pair, int], *, errors: bool
) -> Iterator[Pair]:
    def is_settled(last: Attempt) -> bool:
        return last.scored or (errors and last.number >= since.get(last.pair, 1))

    if unit != GROUP:
        yield from (last.pair for last in tally.attempts() if is_settled(last))
        return
    for _, members in groupby(tally.attempts(), key=lambda last: last.pair[0]):
        group = list(members)
        # Rewards of a group belong together: those of two attempts at it do not.
        together = len(group) == rollouts and len({last.number for last in group}) == 1
        if together and all(is_settled(last) for last in group):
            yield from (last.pair for last in group)
