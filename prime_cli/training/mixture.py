"""Several environments as one: the examples of all are numbered in turn.

Example 3 of the second of two environments is number 7 for a trainer, which need not know more.
Those of a single environment keep their numbers.
"""

import math
from collections.abc import AsyncGenerator, Iterable, Sequence
from dataclasses import dataclass

from prime_cli.core.errors import UsageError
from prime_cli.core.formatting import format_number
from prime_cli.training.demand import Demand
from prime_cli.training.policies import Policies, Policy
from prime_cli.wire.rollouts import TrainingRollout

MOST = 1_000_000
"""The longest order of examples, to which uneven shares can lead."""


@dataclass(frozen=True)
class Place:
    """The place of an environment among `count` of them."""

    index: int = 0
    count: int = 1

    def number(self, example: int) -> int:
        """The number of its own `example` among those of all."""
        return example * self.count + self.index


ALONE = Place()


def own_example(number: int, count: int) -> tuple[int, int]:
    """The index of the environment that has this number, and the number there."""
    example, index = divmod(number, count)
    return index, example


def mixed_order(examples: Sequence[Sequence[int]], ratios: Sequence[float] = ()) -> list[int]:
    """The numbers of all examples, each environment's spread evenly over the whole.

    With `ratios` each environment has that share: examples of those that have too few come more
    than once. Raises UsageError for shares that would need more than a million.
    """
    counts = [len(each) for each in examples]
    if ratios:
        shares = [ratio / math.fsum(ratios) for ratio in ratios]
        whole = max(count / share for count, share in zip(counts, shares, strict=True))
        if whole > MOST:
            raise UsageError(
                f"The ratios of the environments need an order of {format_number(whole)} examples",
                hint="choose ratios nearer to the sizes of the environments",
            )
        counts = [
            max(count, round(share * whole)) for count, share in zip(counts, shares, strict=True)
        ]
    order = sorted(
        ((turn + 0.5) / count, index, turn)
        for index, count in enumerate(counts)
        for turn in range(count)
    )
    places = [Place(index, len(examples)) for index in range(len(examples))]
    return [
        places[index].number(examples[index][turn % len(examples[index])])
        for _, index, turn in order
    ]


class MixedDemand:
    """Asks the environment that has an example for its rollouts."""

    def __init__(self, parts: Sequence[Demand[TrainingRollout]]) -> None:
        self._parts = parts

    async def loaded(self) -> None:
        """Wait until all are loaded; raises what kept one from that."""
        for part in self._parts:
            await part.loaded()

    async def numbers(self, example: int, count: int) -> list[int]:
        """Numbers for `count` more rollouts; raises UsageError for an unknown example."""
        part, own = self._of(example)
        return await part.numbers(own, count)

    def rollouts(self, example: int, numbers: list[int]) -> AsyncGenerator[TrainingRollout, None]:
        """These rollouts, each as it finishes; leaving early gives up the others."""
        part, own = self._of(example)
        return part.rollouts(own, numbers)

    def _of(self, example: int) -> tuple[Demand[TrainingRollout], int]:
        index, own = own_example(example, len(self._parts))
        return self._parts[index], own


class MixedPolicies(Policies):
    """One current policy for several environments, each of which knows those of its rollouts."""

    def __init__(self, parts: Sequence[Policies]) -> None:
        super().__init__(parts[0].current, parts[0].sampling)
        self._parts = parts

    def set_current(self, policy: Policy) -> None:
        """Answer calls of all environments with `policy` from now on."""
        super().set_current(policy)
        for part in self._parts:
            part.set_current(policy)

    def set_own(self, example: int, rollouts: Iterable[int], policy: Policy) -> None:
        """Answer the calls of these rollouts with `policy`, until they are forgotten."""
        index, own = own_example(example, len(self._parts))
        self._parts[index].set_own(own, rollouts, policy)
