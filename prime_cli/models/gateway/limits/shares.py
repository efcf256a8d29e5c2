"""How a limit is divided among the processes that call the same endpoint."""

from collections.abc import Sequence
from dataclasses import dataclass

TURN_SECONDS = 2.0
"""How long a remainder stays with the same processes, where a limit cannot be divided evenly."""


@dataclass(frozen=True, slots=True)
class Caller:
    """One process: its place in the shared file, its calls at the endpoint, and those in wait."""

    place: int
    running: int
    waiting: int

    @property
    def demand(self) -> int:
        """How many calls it would have under way if nothing held them."""
        return self.running + self.waiting


def fair_share(place: int, callers: Sequence[Caller], limit: int, now: float) -> int:
    """How many of `limit` calls the process at `place` may have under way.

    Max-min fair: who wants less than an even part gets what it wants, and the rest is divided
    among the others. What is left over goes round from turn to turn, so that nobody starves even
    where there are more processes than calls. All processes come to the same division, and the
    shares of all add up to at most `limit`.
    """
    left, hungry = limit, sorted(callers, key=lambda caller: caller.demand)
    while hungry and hungry[0].demand <= left // len(hungry):
        satisfied = hungry.pop(0)
        if satisfied.place == place:
            return satisfied.demand
        left -= satisfied.demand
    if not hungry:
        return left
    even, over = divmod(left, len(hungry))
    rank = sorted(caller.place for caller in hungry).index(place)
    return even + ((rank + int(now / TURN_SECONDS)) % len(hungry) < over)
