"""Groups without spread, which teach nothing, replaced by groups of other examples."""

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

_SAME = 1e-9
Group = list[Any]


@dataclass(frozen=True)
class Refilled:
    """How many groups of a step were `dropped`, and how many of these were `replaced`."""

    dropped: int = 0
    replaced: int = 0

    def __add__(self, other: "Refilled") -> "Refilled":
        return Refilled(self.dropped + other.dropped, self.replaced + other.replaced)

    def metrics(self) -> dict[str, int]:
        """As a step reports it; it is `short` where the bound left groups that teach nothing."""
        short = int(self.replaced < self.dropped)
        return {"dropped": self.dropped, "replaced": self.replaced, "refill_short": short}


def refill(
    groups: Sequence[Group], spare: Sequence[int], ask: Callable[[Sequence[int]], list[Group]]
) -> tuple[list[Group], Refilled]:
    """The groups, of which those without spread are replaced while there are `spare` examples.

    `ask` plays a group of each of some examples. What cannot be replaced stays.
    """
    found = list(groups)
    empty = [place for place, group in enumerate(found) if not has_spread(group)]
    dropped = len(empty)
    while empty and spare:
        asked, spare = spare[: len(empty)], spare[len(empty) :]
        for group in filter(has_spread, ask(asked)):
            found[empty.pop(0)] = group
    return found, Refilled(dropped, dropped - len(empty))


def has_spread(group: Group) -> bool:
    """Whether two rollouts have different rewards."""
    rewards = [each["reward"] for each in group if each["reward"] is not None]
    return len(rewards) > 1 and max(rewards) - min(rewards) > _SAME


def spare_examples(
    examples: Iterable[int], used: Iterable[int], most: int, seed: str, part: tuple[int, int]
) -> list[int]:
    """At most `most` that a step has not used, in an order that follows from the seed alone.

    Process `part[0]` of `part[1]` has its share of them.
    """
    process, count = part
    found = sorted(set(examples) - set(used))
    random.Random(seed).shuffle(found)  # noqa: S311 - no secret
    return found[:most][process::count]
