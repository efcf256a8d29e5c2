"""Means, spreads, bounds and precision of rewards."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from prime_cli.evals.quantiles import t_quantile


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


CONFIDENCE = 0.95


@dataclass(frozen=True)
class Precision:
    """How exactly a mean is known: its standard error and its 95 % interval, where there is one."""

    stderr: float | None = None
    interval: tuple[float, float] | None = None


def precision(examples: Sequence[Sequence[float]]) -> Precision:
    """The Precision of the mean over all rewards; `examples` holds those of one example each.

    Rollouts of one example are alike, so examples are what was sampled: the variance is that of
    clusters with n / (n - 1) for few of them, as in Miller, "Adding Error Bars to Evals" (2024,
    arXiv:2411.00640). Rewards of 0 and 1 have Wilson's interval (1927) for the effective number
    of rewards (Korn and Graubard, 1998), which holds near 0 and 1 too; others have Student's.
    Fewer than two examples have neither, equal rewards other than 0 and 1 no interval.
    """
    clusters = [rewards for rewards in examples if rewards]
    rewards = [reward for cluster in clusters for reward in cluster]
    if len(clusters) <= 1:
        return Precision()
    mean = math.fsum(rewards) / len(rewards)
    residuals = (math.fsum(reward - mean for reward in cluster) for cluster in clusters)
    spare = len(clusters) - 1
    squares = math.fsum(residual**2 for residual in residuals)
    # Equal rewards have residuals of 1e-17 where the mean is rounded.
    squares = squares if min(rewards) < max(rewards) else 0.0
    stderr = math.sqrt(len(clusters) / spare * squares) / len(rewards)
    t = t_quantile((1 + CONFIDENCE) / 2, spare)
    if set(rewards) <= {0.0, 1.0}:
        variance = mean * (1 - mean)
        size = min(variance / stderr**2, len(rewards)) if stderr and variance else len(clusters)
        return Precision(stderr, _wilson(mean, size, t))
    return Precision(stderr, (mean - t * stderr, mean + t * stderr) if stderr else None)


def _wilson(share: float, size: float, t: float) -> tuple[float, float]:
    middle = (share + t * t / (2 * size)) / (1 + t * t / size)
    root = math.sqrt(share * (1 - share) / size + t * t / (4 * size * size))
    reach = t / (1 + t * t / size) * root
    return max(0.0, middle - reach), min(1.0, middle + reach)
