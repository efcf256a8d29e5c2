"""Rollouts in memory, as the page of a run lists them by example."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import isnan, nan
from typing import Self

from prime_cli.pages.rollout import RolloutContent, RolloutSample, view_rollout
from prime_cli.pages.run_page import ExampleTexts
from prime_cli.pages.runs import Link
from prime_cli.runs.outcomes import RolloutColumns


def columns_of(examples: Sequence[Sequence[float | None]]) -> RolloutColumns:
    """The rewards of each example, None for an error; the last rollout is long and truncated."""
    rewards = [nan if each is None else each for part in examples for each in part]
    last = len(rewards) - 1
    return RolloutColumns(
        starts=list(accumulate(map(len, examples), initial=0)),
        rewards=rewards,
        failed=[isnan(each) for each in rewards],
        truncated=[place == last for place in range(len(rewards))],
        lengths=[100 + 900 * (place == last) for place in range(len(rewards))],
    )


@dataclass
class Listed:
    """An ExampleSource; a rollout's key is its place, and what is said is its reward."""

    columns: RolloutColumns
    names: Sequence[str]
    texts: ExampleTexts | None = None
    folder: str = "r1/rollouts/"

    @classmethod
    def of(cls, examples: Sequence[Sequence[float | None]]) -> Self:
        return cls(columns_of(examples), [f"e{row}" for row in range(len(examples))])

    def name(self, row: int) -> str:
        return self.names[row]

    def key(self, place: int) -> str:
        return str(place)

    def label(self, place: int) -> str:
        return f"rollout {place}"

    def find(self, key: str) -> int | None:
        return int(key) if key.isdecimal() and int(key) < len(self.columns.rewards) else None

    def read(self, places: Sequence[int]) -> Sequence[ExampleTexts]:
        return [self.texts or ExampleTexts(said=str(self.columns.rewards[at])) for at in places]

    def view(self, place: int, share: int) -> RolloutContent:
        reward = self.columns.rewards[place]
        sample = RolloutSample(completion=f"said {reward}", reward=reward)
        title = f"rollout {place} of a page of {share}"
        return view_rollout(sample, path=f"/r/{place}", run=Link("r1", "/r1"), title=title)
