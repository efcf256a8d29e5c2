"""Token buckets: so many requests at once, and then so many a second."""

import time
from collections import OrderedDict
from collections.abc import Callable, Hashable

_MANY = 50_000


class Buckets:
    """A bucket for each name, full at first, that fills with `rate` tokens a second up to `burst`.

    Only the `most` names that were used last are known; one that is forgotten is full again, so
    memory stays bounded whoever calls. Used by one thread.
    """

    def __init__(
        self,
        rate: float,
        burst: float,
        *,
        most: int = _MANY,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._rate = rate
        self._burst = burst
        self._most = most
        self._clock = clock
        self._levels: OrderedDict[Hashable, tuple[float, float]] = OrderedDict()

    def take(self, name: Hashable) -> float:
        """Take one token; 0.0 when there was one, else the seconds until there is."""
        now = self._clock()
        level, at = self._levels.get(name, (self._burst, now))
        level = min(self._burst, level + (now - at) * self._rate)
        wait = 0.0 if level >= 1 else (1 - level) / self._rate
        self._levels[name] = (level if wait else level - 1, now)
        self._levels.move_to_end(name)
        if len(self._levels) > self._most:
            self._levels.popitem(last=False)
        return wait
