"""Running count, mean and spread of numbers, without storing the numbers."""

import math
from collections.abc import Mapping

import msgspec

REWARD = "reward"

_LARGEST = 1e100
"""Above this a square or a sum could be infinite, so such numbers are ignored."""
_MOST_NAMES = 200
MOST_WITH_INTERVAL = 50_000
"""Samples of an evaluation whose interval is computed, while its client waits."""


class RunningMoments(msgspec.Struct):
    """Of the numbers seen so far; `squares` is the sum of squared distances from the mean.

    The formulas are those of Chan, Golub and LeVeque (1979), Welford's for one number.
    """

    count: int = 0
    mean: float = 0.0
    squares: float = 0.0
    least: float = math.inf
    most: float = -math.inf

    def add(self, value: float) -> None:
        """Add one number."""
        self.count += 1
        distance = value - self.mean
        self.mean += distance / self.count
        self.squares += distance * (value - self.mean)
        self.least = min(self.least, value)
        self.most = max(self.most, value)

    def merge(self, other: "RunningMoments") -> None:
        """Add all numbers in `other`."""
        count = self.count + other.count
        if not count:
            return
        distance = other.mean - self.mean
        self.squares += other.squares + distance * distance * self.count * other.count / count
        self.mean += distance * other.count / count
        self.count = count
        self.least = min(self.least, other.least)
        self.most = max(self.most, other.most)

    def deviation(self) -> float | None:
        """The standard deviation of a sample (n - 1), None for fewer than two numbers."""
        return math.sqrt(self.squares / (self.count - 1)) if self.count > 1 else None


class SampleTotals(msgspec.Struct):
    """The totals of one evaluation's samples: by name of the number, and errors.

    Keeps at most 200 names; numbers under further ones are left out. `interval` is that of the mean
    reward, known from the end of an evaluation until samples are added.
    """

    errors: int = 0
    scores: dict[str, RunningMoments] = {}
    interval: tuple[float, float] | None = None

    def add(self, reward: float | None, scores: Mapping[str, float], *, failed: bool) -> None:
        """Count one sample."""
        self.errors += failed
        if reward is not None:
            self._see(REWARD, reward)
        for name, value in scores.items():
            self._see(name, value)

    def merge(self, other: "SampleTotals") -> None:
        """Add all counts of `other`."""
        self.errors += other.errors
        if other.errors or other.scores:
            self.interval = None
        for name, moments in other.scores.items():
            if name in self.scores or len(self.scores) < _MOST_NAMES:
                self.scores.setdefault(name, RunningMoments()).merge(moments)

    def mean_reward(self) -> float | None:
        """The mean of the rewards, None if there are none."""
        moments = self.scores.get(REWARD)
        return moments.mean if moments is not None else None

    def _see(self, name: str, value: float) -> None:
        if abs(value) > _LARGEST:
            return
        moments = self.scores.get(name)
        if moments is None:
            if len(self.scores) >= _MOST_NAMES:
                return
            moments = self.scores[name] = RunningMoments()
        moments.add(value)
