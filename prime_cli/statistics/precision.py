"""Means, spreads, bounds and precision of rewards."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from prime_cli.statistics.intervals import Interval, interval_of, moments_of


@dataclass(frozen=True)
class Spread:
    """Mean and population standard deviation (divided by n, as vf-eval prints it)."""

    mean: float | None
    std: float | None


def spread(values: Sequence[float]) -> Spread:
    """The Spread of `values`; both parts are None when there are none."""
    if not values:
        return Spread(None, None)
    mean = math.fsum(values) / len(values)
    variance = math.fsum((value - mean) ** 2 for value in values) / len(values)
    return Spread(mean, math.sqrt(variance))


@dataclass(frozen=True)
class Bounds:
    """The mean with errors left out and with errors counted as 0, the smaller one first."""

    low: float | None
    high: float | None


def bounds(rewards: Sequence[float], errored: int) -> Bounds:
    """Bounds of the mean reward when `errored` further rollouts have none."""
    finished = len(rewards) + errored
    if not finished:
        return Bounds(None, None)
    total = math.fsum(rewards)
    as_zero = total / finished
    left_out = total / len(rewards) if rewards else as_zero
    return Bounds(min(as_zero, left_out), max(as_zero, left_out))


@dataclass(frozen=True)
class Precision:
    """How exactly a mean is known: its standard error and its 95 % interval, where there is one."""

    stderr: float | None = None
    interval: Interval | None = None


def precision(examples: Sequence[Sequence[float]]) -> Precision:
    """The Precision of the mean over all rewards; `examples` holds those of one example each.

    Fewer than two examples with a reward tell nothing.
    """
    clusters = [rewards for rewards in examples if rewards]
    if len(clusters) <= 1:
        return Precision()
    moments = moments_of(clusters)
    return Precision(moments.stderr, interval_of(clusters, moments))
