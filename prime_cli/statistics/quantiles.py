"""Quantiles of the beta and of Student's t distribution without scipy, which no run must need."""

import math

_TINY = 1e-300
_TERMS = 100_000
_EXACT = 1e-15


def t_quantile(probability: float, degrees: float) -> float:
    """The quantile of Student's t at `probability` in [0.5, 1); `degrees` may be a fraction.

    P(|T| <= t) is the incomplete beta function of 1/2 and degrees / 2 at t² / (degrees + t²):
    Abramowitz and Stegun, Handbook of Mathematical Functions (1964), 26.7.1 and 26.5.27.
    """
    share = beta_quantile(2 * probability - 1, 0.5, degrees / 2)
    return math.sqrt(degrees * share / (1 - share))


def beta_quantile(probability: float, a: float, b: float) -> float:
    """The quantile of the beta distribution at `probability` in (0, 1), for a, b > 0."""
    low, high = 0.0, 1.0
    while high - low > _EXACT * high:
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (middle, high) if _beta_cdf(middle, a, b) < probability else (low, middle)
    return (low + high) / 2


def _beta_cdf(x: float, a: float, b: float) -> float:
    """The regularised incomplete beta function at x in (0, 1)."""
    if x > (a + 1) / (a + b + 2):
        return 1 - _beta_cdf(1 - x, b, a)
    logs = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    logs += a * math.log(x) + b * math.log1p(-x)
    return math.exp(logs) / (a * _continued_fraction(x, a, b))


def _continued_fraction(x: float, a: float, b: float) -> float:
    """That of DLMF 8.17.22 by Lentz's method as modified by Thompson and Barnett (1986)."""
    numerator, denominator, found = 1.0, 0.0, 1.0
    for term in range(1, _TERMS):
        half, odd = divmod(term, 2)
        if odd:
            step = -(a + half) * (a + b + half) * x / ((a + 2 * half) * (a + 2 * half + 1))
        else:
            step = half * (b - half) * x / ((a + 2 * half - 1) * (a + 2 * half))
        denominator = 1 / ((1 + step * denominator) or _TINY)
        numerator = (1 + step / numerator) or _TINY
        found *= numerator * denominator
        if abs(numerator * denominator - 1) < _EXACT:
            break
    return found
