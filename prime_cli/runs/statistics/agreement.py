"""How far a judge of passes and failures agrees with people: kappa, and a corrected pass rate."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from statistics import NormalDist

_Z = NormalDist().inv_cdf(0.975)


@dataclass(frozen=True)
class Confusion:
    """Rollouts by what people and the judge said: `false_passes` are those that only it passed."""

    passes: int
    false_passes: int
    false_failures: int
    failures: int

    @property
    def count(self) -> int:
        return self.passes + self.false_passes + self.false_failures + self.failures

    @property
    def base_rate(self) -> float:
        """The share that people pass."""
        return (self.passes + self.false_failures) / self.count

    @property
    def judge_rate(self) -> float:
        """The share that the judge passes."""
        return (self.passes + self.false_passes) / self.count

    @property
    def sensitivity(self) -> float:
        """Of what people pass, the share that the judge passes."""
        return self.passes / (self.passes + self.false_failures)

    @property
    def specificity(self) -> float:
        """Of what people fail, the share that the judge fails."""
        return self.failures / (self.failures + self.false_passes)


def confuse(pairs: Iterable[tuple[bool, bool]]) -> Confusion:
    """Count pairs of what people and the judge said."""
    every = list(pairs)
    return Confusion(*(every.count(each) for each in _CELLS))


_CELLS = ((True, True), (False, True), (True, False), (False, False))


@dataclass(frozen=True)
class RateEstimate:
    """A value with its 95 % interval."""

    value: float
    low: float
    high: float


def cohens_kappa(table: Confusion) -> RateEstimate:
    """Agreement beyond chance; there must be rollouts that people pass, and that they fail.

    Cohen (1960), with the standard error of Fleiss, Cohen and Everitt, Psychological Bulletin 72
    (1969), 323-327.
    """
    n = table.count
    people, judge = table.base_rate, table.judge_rate
    both, neither = table.passes / n, table.failures / n
    agreed = both + neither
    chance = people * judge + (1 - people) * (1 - judge)
    kappa = (agreed - chance) / (1 - chance)
    on = sum(
        share * (1 - (a + b) * (1 - kappa)) ** 2
        for share, a, b in ((both, people, judge), (neither, 1 - people, 1 - judge))
    )
    off = (1 - kappa) ** 2 * (
        table.false_passes / n * (1 - judge + people) ** 2
        + table.false_failures / n * (judge + 1 - people) ** 2
    )
    variance = (on + off - (kappa - chance * (1 - kappa)) ** 2) / (n * (1 - chance) ** 2)
    reach = _Z * math.sqrt(max(0.0, variance))
    return RateEstimate(kappa, max(-1.0, kappa - reach), min(1.0, kappa + reach))


def corrected_rate(table: Confusion, judged: int, passed: int) -> RateEstimate | None:
    """The pass rate of `judged` rollouts, `passed` of them by the judge, as people would see it.

    Rogan and Gladen, American Journal of Epidemiology 107 (1978), 71-76, with the interval of the
    delta method for labels of other rollouts, which is too wide if many of these are labelled. None
    for a judge that is no better than chance.
    """
    youden = table.sensitivity + table.specificity - 1
    if youden <= 0:
        return None
    rate = passed / judged
    value = (rate + table.specificity - 1) / youden
    positives = table.passes + table.false_failures
    spread = (
        rate * (1 - rate) / judged
        + value**2 * table.sensitivity * (1 - table.sensitivity) / positives
        + (1 - value) ** 2 * table.specificity * (1 - table.specificity) / (table.count - positives)
    )
    reach = _Z * math.sqrt(spread) / youden
    low, value, high = (min(1.0, max(0.0, each)) for each in (value - reach, value, value + reach))
    return RateEstimate(value, low, high)
