"""How much two paired runs differ, how exactly that is known, and whether it could be chance.

All that is random is drawn from a seed. Swapping the runs turns every sign and changes nothing
else; the order of the rows changes nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from prime_cli.evals.comparison.pairing import Pairs
from prime_cli.evals.comparison.power import (
    POWER,
    detectable_by_mcnemar,
    detectable_by_t,
)

Floats = NDArray[np.float64]

DRAWS = 9_999
_AT_ONCE = 2_000_000
"""Numbers drawn at once; bounds memory."""

MCNEMAR = "exact McNemar"
SIGN_FLIP = "sign-flip permutation"
ADJUSTED_WALD = "adjusted Wald"
BOOTSTRAP = "bootstrap-t"


@dataclass(frozen=True)
class Effect:
    """`difference` is the mean of other - first over examples; `stderr` is its standard error.

    `interval` covers it with probability 1 - alpha and is None where too few examples differ to
    tell; `detectable` is the smallest true difference that is found with the usual power. `p` is
    two-sided, from `test`; `method` made the interval.
    """

    difference: float
    stderr: float | None
    interval: tuple[float, float] | None
    p: float
    test: str
    method: str
    detectable: float | None


def effect_of(pairs: Pairs, *, alpha: float, seed: int) -> Effect:
    """The Effect between the two runs of `pairs`, whose examples are what was sampled."""
    differences = np.asarray(pairs.differences, dtype=np.float64)
    size = len(differences)
    spread = float(np.std(differences, ddof=1)) if size > 1 else None
    return Effect(
        difference=float(np.mean(differences)),
        stderr=None if spread is None else spread / size**0.5,
        interval=interval_of(pairs, alpha=alpha, seed=seed),
        p=p_value(pairs, seed=seed),
        test=MCNEMAR if pairs.is_binary else SIGN_FLIP,
        method=ADJUSTED_WALD if pairs.is_binary else BOOTSTRAP,
        detectable=_detectable(pairs, spread, alpha),
    )


def p_value(pairs: Pairs, *, seed: int) -> float:
    """McNemar's exact test where rewards are single and 0 or 1, else the sign-flip test."""
    if pairs.is_binary:
        return mcnemar(*_changes(pairs))
    return sign_flip(pairs.differences, seed=seed)


def interval_of(pairs: Pairs, *, alpha: float, seed: int) -> tuple[float, float] | None:
    """The adjusted Wald interval where rewards are single and 0 or 1, else the bootstrap's.

    Where all rewards lie between 0 and 1 it is cut off at -1 and 1.
    """
    if pairs.is_binary:
        return adjusted_wald(*_changes(pairs), len(pairs.ids), alpha=alpha)
    found = bootstrap_t(pairs.differences, alpha=alpha, seed=seed)
    if found is None or not _are_shares(pairs):
        return found
    return max(-1.0, found[0]), min(1.0, found[1])


def _detectable(pairs: Pairs, spread: float | None, alpha: float) -> float | None:
    size = len(pairs.ids)
    if pairs.is_binary:
        # One more of each: no change in a few examples does not show that there is never any.
        discordance = (sum(_changes(pairs)) + 2) / (size + 2)
        return detectable_by_mcnemar(discordance, size, alpha=alpha, power=POWER)
    if not spread:
        return None
    found = detectable_by_t(spread, size, alpha=alpha, power=POWER)
    return None if found is not None and found > 1 and _are_shares(pairs) else found


def _changes(pairs: Pairs) -> tuple[int, int]:
    """How many examples earned more in the other run, and how many less."""
    differences = pairs.differences
    return sum(each > 0 for each in differences), sum(each < 0 for each in differences)


def _are_shares(pairs: Pairs) -> bool:
    return all(0 <= reward <= 1 for rewards in (pairs.first, pairs.other) for reward in rewards)


def mcnemar(gained: int, lost: int) -> float:
    """The exact two-sided p-value that as many were gained as lost (McNemar, 1947)."""
    if gained + lost == 0:
        return 1.0
    return float(stats.binomtest(gained, gained + lost).pvalue)


def adjusted_wald(gained: int, lost: int, size: int, *, alpha: float) -> tuple[float, float]:
    """An interval for (gained - lost) / size where both are counts of `size` pairs.

    Wald's with half a pair more in each of the four cells, cut off at -1 and 1: Agresti and Min,
    Statistics in Medicine 24 (2005), 729-740.
    """
    more = size + 2
    difference = (gained - lost) / more
    variance = (gained + lost + 1) / more - difference**2
    reach = float(stats.norm.ppf(1 - alpha / 2)) * (variance / more) ** 0.5
    return max(-1.0, difference - reach), min(1.0, difference + reach)


def sign_flip(differences: Sequence[float] | Floats, *, seed: int) -> float:
    """The two-sided p-value of a permutation test that exchanges the runs example by example.

    Exact where at most 9,999 ways to do so exist, else from that many draws (scipy's own takes
    30 seconds for 10,000 examples). McNemar's test is this test for differences of 1, 0 and -1.
    """
    given = np.asarray(differences, dtype=np.float64)
    changed = given[given != 0]
    if len(changed) <= 1:
        return 1.0
    if 2 ** min(len(changed), 64) <= DRAWS:
        return _every_flip(changed)
    rng = np.random.default_rng(seed)
    wanted, step = draws_for(len(changed)), _rows_at_once(len(changed))
    total = float(np.sum(changed))
    # Sums are rounded: what is as far out as the observed one must not fall short by a bit.
    bar = abs(total) * (1 - 1e-12)
    beyond = 0
    for done in range(0, wanted, step):
        kept = rng.integers(0, 2, (min(step, wanted - done), len(changed)), dtype=np.int8)
        beyond += int(np.sum(np.abs(2 * (kept.astype(np.float64) @ changed) - total) >= bar))
    return (beyond + 1) / (wanted + 1)


def _every_flip(changed: Floats) -> float:
    found = stats.permutation_test(
        (changed,),
        lambda sample, axis: np.sum(sample, axis=axis),
        permutation_type="samples",
        n_resamples=DRAWS,
        vectorized=True,
    )
    return float(found.pvalue)


def bootstrap_t(
    differences: Sequence[float] | Floats, *, alpha: float, seed: int
) -> tuple[float, float] | None:
    """The symmetric bootstrap-t interval of the mean (Hall, Annals of Statistics 16, 1988).

    None for a single example, when no two differ, and when so few do that resamples without any
    spread are more than `alpha` of all.
    """
    given = np.asarray(differences, dtype=np.float64)
    size = len(given)
    if size <= 1 or np.ptp(given) == 0:
        return None
    mean, stderr = float(np.mean(given)), float(np.std(given, ddof=1)) / size**0.5
    rng = np.random.default_rng(seed)
    wanted, step = draws_for(size), _rows_at_once(size)
    found = [
        _distances(given[rng.integers(0, size, (min(step, wanted - done), size))], mean)
        for done in range(0, wanted, step)
    ]
    quantile = float(np.quantile(np.concatenate(found), 1 - alpha, method="higher"))
    if not np.isfinite(quantile):
        return None
    return mean - quantile * stderr, mean + quantile * stderr


def _distances(resamples: Floats, mean: float) -> Floats:
    """How many of its own standard errors the mean of each row lies from `mean`."""
    off = np.abs(np.mean(resamples, axis=1) - mean)
    errors = np.std(resamples, axis=1, ddof=1) / resamples.shape[1] ** 0.5
    # Rounding gives equal numbers a deviation of 1e-17, and the tiniest ones none.
    flat = (np.ptp(resamples, axis=1) == 0) | (errors == 0)
    return np.where(flat, np.inf, off / np.where(flat, 1.0, errors))


def draws_for(size: int) -> int:
    """Resamples of `size` examples: 9,999, fewer from 10,000 examples, at least 999."""
    return max(999, min(DRAWS, 50 * _AT_ONCE // size))


def _rows_at_once(size: int) -> int:
    return max(1, _AT_ONCE // size)


def holm(values: Sequence[float]) -> list[float]:
    """p-values adjusted for being looked at together, in their order.

    Holm, Scandinavian Journal of Statistics 6 (1979), 65-70: the chance of one false finding
    among all stays below alpha.
    """
    adjusted = [0.0] * len(values)
    reached = 0.0
    for rank, place in enumerate(sorted(range(len(values)), key=values.__getitem__)):
        reached = max(reached, min(1.0, (len(values) - rank) * values[place]))
        adjusted[place] = reached
    return adjusted
