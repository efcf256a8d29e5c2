"""The power of the sign-flip test with few examples, by simulation from a fixed seed."""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy import optimize, special, stats

from prime_cli.statistics.power import discordance_of, power_of_mcnemar, power_of_t
from prime_cli.statistics.resampling import Floats, share_rejected

PAIRS = 4_000
"""Simulated comparisons: the standard error of a power of 0.8 is 0.006."""
ENOUGH = 250
"""Examples from which the power is that of the t-test, to less than that."""
_ENOUGH_NORMAL = 14
_SEED = 1
_SURE = 0.999
"""An icc from which rollouts count as repeating each other."""


def power_of_normal(difference: float, spread: float, size: int, *, alpha: float) -> float:
    """The power where differences of examples are normal with the deviation `spread`."""
    if size >= _ENOUGH_NORMAL:
        return power_of_t(difference / spread, size, alpha=alpha)
    noise = np.random.default_rng(_SEED).normal(size=(size, PAIRS)).T
    return share_rejected(difference + spread * noise, alpha=alpha)


@dataclass(frozen=True)
class Shares:
    """0/1 rewards of two models: their rates, and how alike rollouts and models are.

    Each example has an expected reward for each model, of a beta distribution with the intraclass
    correlation `icc`; those of both models correlate (a Gaussian copula).
    """

    first: float
    other: float
    icc: float
    correlation: float
    rollouts: int

    def spread(self) -> float:
        """Standard deviation of the differences between both means of an example."""
        one, two = (rate * (1 - rate) for rate in (self.first, self.other))
        shared = 2 * self.correlation * (one * two) ** 0.5
        between = self.icc * (one + two - shared)
        return math.sqrt(between + (1 - self.icc) * (one + two) / self.rollouts)

    def discordance(self) -> float:
        """The share of examples that change, with one rollout."""
        return discordance_of(self.first, self.other, self.icc * self.correlation)

    def power(self, size: int, *, alpha: float) -> float:
        """The power with `size` examples: of McNemar's test for one rollout, else of sign flips."""
        if self.rollouts == 1:
            change = abs(self.other - self.first)
            return power_of_mcnemar(change, self.discordance(), size, alpha=alpha)
        if size >= ENOUGH:
            wide = self.spread()
            return (
                power_of_t(abs(self.other - self.first) / wide, size, alpha=alpha) if wide else 1.0
            )
        # Sizes that a search tries one after another are looked at in the same simulated pairs.
        drawn = _drawn(self, min(ENOUGH, 1 << (size - 1).bit_length()))
        return share_rejected(drawn[:, :size], alpha=alpha)

    def differences(self, size: int) -> Floats:
        """PAIRS x examples; fewer are the first of more, so that power grows with them."""
        latent = np.random.default_rng((_SEED, 0)).normal(size=(size, 2, PAIRS))
        one, two = latent[:, 0], latent[:, 1]
        link = self._latent_correlation()
        chances = (
            self._chances(self.first, one),
            self._chances(self.other, link * one + (1 - link**2) ** 0.5 * two),
        )
        found = np.zeros((size, PAIRS))
        for rollout in range(self.rollouts):
            drawn = np.random.default_rng((_SEED, rollout + 1)).random((size, 2, PAIRS))
            found += (drawn[:, 1] < chances[1]).astype(float) - (drawn[:, 0] < chances[0])
        return (found / self.rollouts).T

    def _chances(self, rate: float, normal: Floats) -> Floats:
        """The quantiles of the beta distribution where `normal` are those of the normal one."""
        if not 0 < rate < 1 or not self.icc:
            return np.full_like(normal, rate)
        amount = (1 - min(self.icc, _SURE)) / min(self.icc, _SURE)
        grid = np.linspace(-6, 6, 1201)
        shape = rate * amount, (1 - rate) * amount
        return np.interp(normal, grid, special.betaincinv(*shape, stats.norm.cdf(grid)))

    def _latent_correlation(self) -> float:
        """That of the normal variables which gives expected rewards their correlation."""
        nodes, weights = np.polynomial.hermite_e.hermegauss(64)
        weights = np.outer(weights, weights) / weights.sum() ** 2
        first = self._chances(self.first, nodes)[:, None]

        def short(link: float) -> float:
            normal = link * nodes[:, None] + (1 - link**2) ** 0.5 * nodes[None, :]
            other = self._chances(self.other, normal)
            product = np.sum(weights * (first - self.first) * (other - self.other))
            one, two = (rate * (1 - rate) for rate in (self.first, self.other))
            return float(product - self.correlation * self.icc * (one * two) ** 0.5)

        if short(0.0) >= 0:
            return 0.0
        return float(optimize.brentq(short, 0.0, 1.0)) if short(1.0) > 0 else 1.0


@lru_cache(maxsize=1)
def _drawn(shares: Shares, size: int) -> Floats:
    return shares.differences(size)
