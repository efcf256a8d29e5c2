"""How many examples show a difference, and what difference a number of examples shows.

Formulas: Connor, Biometrics 43 (1987), 207-211, for 0/1 rewards with one rollout; the noncentral
t distribution for means; the parts of the variance as in Miller, "Adding Error Bars to Evals"
(2024, arXiv:2411.00640), section 5.
"""

import math
from collections.abc import Callable

from scipy import optimize, stats

POWER = 0.8
MOST = 10_000_000
"""Examples above which an answer is no use."""
_NO_LOWER_TAIL = 7.0
"""Noncentrality from which the other tail is below 1e-11; scipy 1.17 has NaN there from 8."""


def examples_by_mcnemar(
    difference: float, discordance: float, *, alpha: float, power: float
) -> int:
    """Examples needed where the share `discordance` of them changes, `difference` net.

    Both are shares of all examples, 0 < difference <= discordance <= 1.
    """
    spread = _z(1 - alpha / 2) * math.sqrt(discordance)
    spread += _z(power) * math.sqrt(max(discordance - difference**2, 0.0))
    return math.ceil((spread / difference) ** 2)


def detectable_by_mcnemar(
    discordance: float, size: int, *, alpha: float, power: float
) -> float | None:
    """The smallest difference that `size` examples show where `discordance` of them change.

    Where that takes more changes, as many as the difference needs; None when even 1 is not shown.
    """

    def shown(difference: float) -> bool:
        changing = max(discordance, difference)
        return examples_by_mcnemar(difference, changing, alpha=alpha, power=power) <= size

    return _smallest(shown, 1.0) if shown(1.0) else None


def examples_by_t(difference: float, spread: float, *, alpha: float, power: float) -> int | None:
    """Examples needed where per-example differences have the standard deviation `spread`.

    None when it would be more than 10 million.
    """

    def enough(size: int) -> bool:
        return power_of_t(difference / spread, size, alpha=alpha) >= power

    if not enough(MOST):
        return None
    low, high = 1, 2
    while not enough(high):
        low, high = high, high * 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def detectable_by_t(spread: float, size: int, *, alpha: float, power: float) -> float | None:
    """The smallest difference that `size` examples show; None for fewer than two."""
    if size <= 1:
        return None

    def missing(effect: float) -> float:
        return power_of_t(effect, size, alpha=alpha) - power

    most = 1.0
    while missing(most) < 0:
        most *= 2
    return float(optimize.brentq(missing, 0.0, most)) * spread


def power_of_t(effect: float, size: float, *, alpha: float) -> float:
    """The power of the two-sided paired t-test; `effect` is in standard deviations."""
    degrees = size - 1
    critical = float(stats.t.ppf(1 - alpha / 2, degrees))
    away = effect * math.sqrt(size)
    found = float(stats.nct.sf(critical, degrees, away))
    if away < _NO_LOWER_TAIL:
        found += float(stats.nct.cdf(-critical, degrees, away))
    return found


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


def _smallest(holds: Callable[[float], bool], most: float) -> float:
    low, high = 0.0, most
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def _z(probability: float) -> float:
    return float(stats.norm.ppf(probability))
