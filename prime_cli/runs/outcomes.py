"""The rollouts of a run by example, which of them are worth a look, and in which order."""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from math import fsum, inf, isnan
from statistics import median

from prime_cli.core.errors import UsageError
from prime_cli.runs.statistics.reducers import THRESHOLD

OUTCOMES = {
    "wrong": f"a reward below {THRESHOLD}",
    "flipped": "an example that is sometimes right and sometimes wrong",
    "errored": "an error instead of a reward",
    "truncated": "cut short by a token limit",
    "long": "more than twice as long as the median, in bytes",
}
"""What viewers and pages narrow a run to, and what each word means."""
ORDERS = {"": "example", "spread": "spread", "lowest": "lowest reward"}
"""What examples are sorted by: their number, the range of their rewards, or their mean."""


def parse_outcome(text: str) -> str:
    """The word for an outcome, or the empty text for all; raises UsageError."""
    word = text.strip().lower()
    if word and word not in OUTCOMES:
        known = ", ".join(OUTCOMES)
        raise UsageError(f"`{text}` is not an outcome of a rollout", hint=f"write one of {known}")
    return word


@dataclass(frozen=True)
class RolloutColumns:
    """The last attempts of a run by example, each at a place from 0 in every column.

    Those of the example in row k are at `starts[k]` to before `starts[k + 1]`. A reward is NaN for
    none; `lengths` are the bytes of what is saved.
    """

    starts: Sequence[int]
    rewards: Sequence[float]
    failed: Sequence[bool]
    truncated: Sequence[bool]
    lengths: Sequence[int]

    @property
    def rows(self) -> range:
        return range(len(self.starts) - 1)

    def places(self, row: int) -> range:
        """The rollouts of an example."""
        return range(self.starts[row], self.starts[row + 1])

    def row_of(self, place: int) -> int:
        return bisect_right(self.starts, place) - 1

    def having(self, outcome: str) -> list[int]:
        """The places of the rollouts with this outcome."""
        rewards = self.rewards
        match outcome:
            case "wrong":
                return [place for place, reward in enumerate(rewards) if reward < THRESHOLD]
            case "flipped":
                parts = pairwise(self.starts)
                mixed = (range(*part) for part in parts if _is_mixed(rewards[slice(*part)]))
                return [place for part in mixed for place in part]
            case "long":
                limit = 2 * median(self.lengths or [0])
                return [place for place, length in enumerate(self.lengths) if length > limit]
        marks = self.failed if outcome == "errored" else self.truncated
        return [place for place, is_marked in enumerate(marks) if is_marked]

    def order(self, rows: Sequence[int], by: str) -> Sequence[int]:
        """The rows in one of the ORDERS; those without a reward come last."""
        if by == "spread":
            return sorted(rows, key=self._spreads.__getitem__, reverse=True)
        if by == "lowest":
            return sorted(rows, key=lambda row: inf if (at := self.means[row]) is None else at)
        return rows

    @cached_property
    def means(self) -> Sequence[float | None]:
        """The mean reward of each example, without errors; None for none."""
        scored = map(self.scored, self.rows)
        return [fsum(rewards) / len(rewards) if rewards else None for rewards in scored]

    @cached_property
    def span(self) -> Sequence[float]:
        """The lowest and the highest reward, if there is one."""
        known = [reward for reward in self.rewards if not isnan(reward)]
        return (min(known), max(known)) if known else ()

    def lowest(self, places: Iterable[int]) -> int:
        """The first rollout with the lowest reward."""
        return min(places, key=lambda at: inf if isnan(self.rewards[at]) else self.rewards[at])

    def contrast(self, place: int) -> int | None:
        """The other rollout of its example whose reward differs most; None for the only one."""
        reward = self.rewards[place]
        others = (each for each in self.places(self.row_of(place)) if each != place)
        return max(others, key=lambda at: _distance(self.rewards[at], reward), default=None)

    def scored(self, row: int) -> list[float]:
        """The rewards of an example, without errors."""
        part = self.rewards[self.starts[row] : self.starts[row + 1]]
        return [reward for reward in part if not isnan(reward)]

    @cached_property
    def _spreads(self) -> Sequence[float]:
        scored = map(self.scored, self.rows)
        return [max(rewards) - min(rewards) if rewards else -inf for rewards in scored]


def _is_mixed(rewards: Sequence[float]) -> bool:
    return any(each < THRESHOLD for each in rewards) and any(each >= THRESHOLD for each in rewards)


def _distance(reward: float, other: float) -> float:
    """How far rewards are apart; one beside an error is further than any other error."""
    if isnan(reward):
        return -1.0
    return 0.0 if isnan(other) else abs(reward - other)
