"""Student's t without scipy, which a plain run must not need."""

import math
from functools import cache
from statistics import NormalDist

_EXPANDED_FROM = 200
"""Degrees of freedom from which the expansion is exact to nine digits."""


@cache
def t_quantile(probability: float, degrees: int) -> float:
    """The quantile of Student's t at `probability` in [0.5, 1) with whole `degrees` of freedom.

    Abramowitz and Stegun, Handbook of Mathematical Functions (1964): 26.7.3 and 26.7.4, finite
    sums that are inverted by bisection, and 26.7.5 for many degrees.
    """
    if degrees >= _EXPANDED_FROM:
        return _expansion(NormalDist().inv_cdf(probability), degrees)
    within, low, high = 2 * probability - 1, 0.0, math.pi / 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if _within(middle, degrees) < within else (low, middle)
    return math.tan((low + high) / 2) * math.sqrt(degrees)


def _within(angle: float, degrees: int) -> float:
    """P(|T| <= t) where t = sqrt(degrees) * tan(angle)."""
    sine, cosine = math.sin(angle), math.cos(angle)
    odd = degrees % 2
    term = cosine if odd else 1.0
    total = 0.0 if degrees == 1 else term
    for power in range(2 + odd, degrees - 1, 2):
        term *= cosine * cosine * (power - 1) / power
        total += term
    return 2 / math.pi * (angle + sine * total) if odd else sine * total


def _expansion(x: float, degrees: int) -> float:
    return x + (
        (x**3 + x) / 4 / degrees
        + (5 * x**5 + 16 * x**3 + 3 * x) / 96 / degrees**2
        + (3 * x**7 + 19 * x**5 + 17 * x**3 - 15 * x) / 384 / degrees**3
    )
