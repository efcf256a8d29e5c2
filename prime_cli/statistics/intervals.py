"""The 95 % interval of a run's mean reward, by the kind of rewards that it has.

Examples are what was sampled, so all of it is about examples, of which each has the sum of its
residuals. How often each interval holds the true mean is in benchmarks/README.md.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

from prime_cli.statistics.quantiles import beta_quantile, t_quantile

CONFIDENCE = 0.95

CLOPPER_PEARSON = "Clopper-Pearson"
KORN_GRAUBARD = "Korn-Graubard"
WILSON = "Wilson, effective size"
HALL = "Hall, skewness removed"

_TAIL = (1 + CONFIDENCE) / 2
_STRAIGHT = 1e-9
"""A bend below which the transformation is the identity."""


@dataclass(frozen=True)
class Interval:
    """An interval and the name of its method."""

    low: float
    high: float
    method: str


@dataclass(frozen=True)
class Moments:
    """What the examples say of the mean of all rewards.

    `examples` and `rewards` are how many there are, `stderr` is the standard error of `mean`;
    `skewness` and `kurtosis` are those of the examples' residuals.
    """

    mean: float
    stderr: float
    examples: int
    rewards: int
    skewness: float
    kurtosis: float

    @property
    def t(self) -> float:
        """Student's t for the standard error.

        Its degrees of freedom are Satterthwaite's (Biometrics Bulletin 2, 1946): few where most
        of the variance is that of few examples. One is taken off for the kurtosis, which is
        estimated as well.
        """
        most = max(1.0, self.examples - 2.0)
        spare = 2 * self.examples / max(self.kurtosis - 1, 1e-9) - 1
        return t_quantile(_TAIL, min(max(spare, 1.0), most))


def moments_of(clusters: Sequence[Sequence[float]]) -> Moments:
    """The Moments of at least two clusters, each with at least one reward.

    The variance is that of clusters with n / (n - 1) for few of them, as in Miller, "Adding Error
    Bars to Evals" (2024, arXiv:2411.00640).
    """
    rewards = [reward for cluster in clusters for reward in cluster]
    count = len(clusters)
    mean = math.fsum(rewards) / len(rewards)
    # Equal rewards have residuals of 1e-17 where the mean is rounded.
    if min(rewards) == max(rewards):
        return Moments(mean, 0.0, count, len(rewards), 0.0, 3.0)
    residuals = [math.fsum(reward - mean for reward in cluster) for cluster in clusters]
    second, third, fourth = (
        math.fsum(residual**power for residual in residuals) / count for power in (2, 3, 4)
    )
    # Sums of unlike rewards may be equal: then the examples do not differ.
    if second <= (1e-12 * (max(rewards) - min(rewards))) ** 2:
        return Moments(mean, 0.0, count, len(rewards), 0.0, 3.0)
    stderr = count * math.sqrt(second / (count - 1)) / len(rewards)
    skewness, kurtosis = third / second**1.5, fourth / second**2
    return Moments(mean, stderr, count, len(rewards), skewness, kurtosis)


def interval_of(clusters: Sequence[Sequence[float]], moments: Moments) -> Interval | None:
    """The Interval of the mean; None where rewards of unknown range do not differ.

    Rewards of which none is below 0 or above 1 are taken to have that range, which no interval
    leaves. Of others the range is not known, and nothing is cut off.
    """
    rewards = {reward for cluster in clusters for reward in cluster}
    if not all(0 <= reward <= 1 for reward in rewards):
        return _hall(moments) if moments.stderr else None
    if not rewards <= {0.0, 1.0}:
        return _wilson(moments)
    if all(min(cluster) == max(cluster) for cluster in clusters) and _are_of_one_size(clusters):
        return Interval(*_beta(moments.mean, moments.examples), CLOPPER_PEARSON)
    return Interval(*_beta(moments.mean, _effective_rewards(moments)), KORN_GRAUBARD)


def _are_of_one_size(clusters: Sequence[Sequence[float]]) -> bool:
    return len({len(cluster) for cluster in clusters}) == 1


def _effective_rewards(moments: Moments) -> float:
    """How many independent rewards of 0 and 1 say as much, as far as that is known.

    Korn and Graubard, Survey Methodology 24 (1998), 193-201.
    """
    if not moments.stderr:
        return moments.examples
    variance = moments.mean * (1 - moments.mean)
    size = min(variance / moments.stderr**2, moments.rewards)
    return max(1.0, size * (NormalDist().inv_cdf(_TAIL) / moments.t) ** 2)


def _beta(share: float, size: float) -> tuple[float, float]:
    """Clopper's and Pearson's interval (Biometrika 26, 1934); `size` may be a fraction."""
    successes = share * size
    low = beta_quantile(1 - _TAIL, successes, size - successes + 1) if share > 0 else 0.0
    high = beta_quantile(_TAIL, successes + 1, size - successes) if share < 1 else 1.0
    return low, high


def _wilson(moments: Moments) -> Interval:
    """Wilson's interval (1927) for as many rewards of 0 and 1 as would vary like these.

    Rewards that do not differ may be 0 and 1 in disguise: each example counts as one.
    """
    share, t = moments.mean, moments.t
    variance = share * (1 - share)
    size = variance / moments.stderr**2 if moments.stderr else moments.examples
    middle = (share + t * t / (2 * size)) / (1 + t * t / size)
    root = math.sqrt(variance / size + t * t / (4 * size * size))
    reach = t / (1 + t * t / size) * root
    return Interval(max(0.0, middle - reach), min(1.0, middle + reach), WILSON)


def _hall(moments: Moments) -> Interval:
    """Hall's interval for skewed rewards, by the cubic transformation of the t statistic.

    Journal of the Royal Statistical Society B 54 (1992), 221-228.
    """
    reach, bend = moments.t, moments.skewness / math.sqrt(moments.examples)
    low, high = (_unbend(quantile, bend) for quantile in (-reach, reach))
    return Interval(moments.mean - high * moments.stderr, moments.mean - low * moments.stderr, HALL)


def _unbend(quantile: float, bend: float) -> float:
    """The t statistic whose transform is `quantile`: x + b x² / 3 + b² x³ / 27 + b / 6."""
    if abs(bend) < _STRAIGHT:
        return quantile
    return 3 / bend * (math.cbrt(1 + bend * (quantile - bend / 6)) - 1)
