"""The chance that `prime eval compare` finds a true difference, by the test that it will use.

The parts of the variance are those of Miller, "Adding Error Bars to Evals" (2024,
arXiv:2411.00640), section 5.
"""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, stats

POWER = 0.8
MOST = 10_000_000
"""Examples above which an answer is no use."""
_NO_LOWER_TAIL = 7.0
"""Noncentrality from which the other tail is below 1e-11; scipy 1.17 has NaN there from 8."""
_NEGLIGIBLE = 1e-9
_VAST = 1e12


def power_of_mcnemar(difference: float, discordance: float, size: int, *, alpha: float) -> float:
    """The power of McNemar's exact test with `size` examples.

    The share `discordance` of them changes, `difference` net, 0 <= difference <= discordance <= 1.
    Every number of changes is weighed by its chance.
    """
    if not discordance:
        return 0.0
    least = int(stats.binom.ppf(_NEGLIGIBLE, size, discordance))
    most = int(stats.binom.ppf(1 - _NEGLIGIBLE, size, discordance))
    changed = np.arange(max(1, least), most + 1)
    critical = _critical(changed, alpha)
    gaining = min(1.0, (discordance + difference) / (2 * discordance))
    found = stats.binom.cdf(critical, changed, gaining)
    found += stats.binom.sf(changed - critical - 1, changed, gaining)
    return float(np.sum(stats.binom.pmf(changed, size, discordance) * found))


def _critical(changed: NDArray[np.int64], alpha: float) -> NDArray[np.float64]:
    """The most changes one way, of so many, by which the test rejects; -1 where none do."""
    critical = stats.binom.ppf(alpha / 2, changed, 0.5)
    short = stats.binom.cdf(critical, changed, 0.5) > alpha / 2
    return np.asarray(critical - short, dtype=np.float64)


def power_of_t(effect: float, size: float, *, alpha: float) -> float:
    """The power of the two-sided paired t-test; `effect` is in standard deviations.

    That of the sign-flip test is the same where there are enough examples.
    """
    degrees = size - 1
    critical = float(stats.t.ppf(1 - alpha / 2, degrees))
    away = effect * math.sqrt(size)
    found = float(stats.nct.sf(critical, degrees, away))
    if away < _NO_LOWER_TAIL:
        found += float(stats.nct.cdf(-critical, degrees, away))
    return found


def fewest_examples(power_at: Callable[[int], float], power: float) -> int | None:
    """The fewest examples whose power is as wanted; None when it would be over 10 million.

    Power is searched as if it only grew with examples. Exact tests make it dip by a little, so
    the answer is one that was looked at itself, with none just below it that would do.
    """
    if power_at(MOST) < power:
        return None
    low, high = 1, 2
    while power_at(high) < power:
        low, high = high, high * 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if power_at(middle) >= power else (middle, high)
    return high


def smallest_difference(
    power_at: Callable[[float], float], power: float, most: float
) -> float | None:
    """The smallest difference up to `most` (may be infinite) with this power; None for none."""
    high = most
    if math.isinf(most):
        high = 1.0
        # So few examples may never show anything.
        while power_at(high) < power and high < _VAST:
            high *= 2
    if power_at(high) < power:
        return None
    return float(optimize.brentq(lambda each: power_at(each) - power, 0.0, high, xtol=1e-6))


def spread_of_differences(
    variance: float, *, icc: float, correlation: float, rollouts: int
) -> float:
    """Standard deviation of per-example differences between two alike models.

    `variance` is that of one reward, `icc` the part of it that lies between examples (and so is
    the correlation of two rollouts of one example), `correlation` that of the two models' expected
    rewards over examples: sqrt(2 v (icc (1 - correlation) + (1 - icc) / rollouts)).
    """
    return math.sqrt(2 * variance * (icc * (1 - correlation) + (1 - icc) / rollouts))


def discordance_of(first: float, other: float, agreement: float) -> float:
    """Share of examples that change where 0/1 rewards with these rates correlate by `agreement`.

    At least the difference of the rates, and at most what the rates leave room for.
    """
    together = agreement * math.sqrt(first * (1 - first) * other * (1 - other))
    found = first * (1 - other) + other * (1 - first) - 2 * together
    return min(max(found, abs(other - first)), first + other, 2 - first - other)
