"""What two runs earned on the examples that they share. Free of numpy: every command imports it."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Pairs:
    """Mean rewards of the examples that both runs scored, in the order of `ids`.

    `is_binary` where each is one reward of 0 or 1. The others are counted: `one_sided` examples
    are in one run only, `unlike` ones ask something else there, `unscored` ones have nothing that
    counts on a side.
    """

    ids: Sequence[int]
    first: Sequence[float]
    other: Sequence[float]
    is_binary: bool
    one_sided: int = 0
    unlike: int = 0
    unscored: int = 0

    @property
    def differences(self) -> list[float]:
        """What the other run earned more, example by example."""
        return [other - first for first, other in zip(self.first, self.other, strict=True)]
