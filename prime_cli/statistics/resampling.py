"""Tests and intervals by resampling: of signs, and of the examples themselves."""

from collections import Counter
from collections.abc import Sequence

import numpy as np
import scipy
from numpy.typing import NDArray

Floats = NDArray[np.float64]

DRAWS = 9_999
_FLIPS = 999
_AT_ONCE = 2_000_000
"""Numbers drawn at once; bounds memory."""
_ALIKE = 3
"""Digits used to decide whether differences vary at all."""


def sign_flip(differences: Sequence[float] | Floats, *, seed: int) -> float:
    """The two-sided p-value of a permutation test that exchanges the runs example by example.

    Exact if at most 9,999 such exchanges exist, else from that many draws (scipy's own takes 30
    seconds for 10,000 examples). McNemar's test is this test for differences of 1, 0 and -1.
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
    # Sums are rounded: values as extreme as the observed one must not miss it by a bit.
    bar = abs(total) * (1 - 1e-12)
    beyond = 0
    for done in range(0, wanted, step):
        kept = rng.integers(0, 2, (min(step, wanted - done), len(changed)), dtype=np.int8)
        beyond += int(np.sum(np.abs(2 * (kept.astype(np.float64) @ changed) - total) >= bar))
    return (beyond + 1) / (wanted + 1)


def share_rejected(comparisons: Floats, *, alpha: float, seed: int = 1) -> float:
    """The share of `comparisons` (each a row of differences) that `sign_flip` rejects.

    Exact if `sign_flip` is; else with 999 flips, shared by all rows.
    """
    size = comparisons.shape[1]
    if 2**size <= DRAWS:
        flips = 1.0 - 2 * ((np.arange(2**size)[:, None] >> np.arange(size)) & 1)
    else:
        flips = 1.0 - 2 * np.random.default_rng(seed).integers(0, 2, (_FLIPS, size))
        # The flip that changes nothing counts as one of those drawn.
        flips[0] = 1.0
    found = 0
    step = max(1, _AT_ONCE // len(flips))
    for rows in (comparisons[at : at + step] for at in range(0, len(comparisons), step)):
        bars = np.abs(np.sum(rows, axis=1)) * (1 - 1e-12)
        beyond = np.mean(np.abs(rows @ flips.T) >= bars[:, None], axis=1)
        found += int(np.sum(beyond <= alpha))
    return found / len(comparisons)


def _every_flip(changed: Floats) -> float:
    found = scipy.stats.permutation_test(
        (changed,),
        lambda sample, axis: np.sum(sample, axis=axis),
        permutation_type="samples",
        n_resamples=DRAWS,
        vectorized=True,
    )
    return float(found.pvalue)


def is_flat(differences: Sequence[float], *, alpha: float) -> bool:
    """Whether more than alpha / 2 of all resamples hold a single value, to a thousandth.

    Such examples say too little about their own variation for a bootstrap: with alpha of them its
    interval would be infinite.
    """
    size = len(differences)
    counts = Counter(round(each, _ALIKE) for each in differences).values()
    return sum((count / size) ** size for count in counts) > alpha / 2


def bootstrap_t(
    differences: Sequence[float] | Floats, *, alpha: float, seed: int
) -> tuple[float, float]:
    """The symmetric bootstrap-t interval of the mean (Hall, Annals of Statistics 16, 1988).

    Of differences that are not flat.
    """
    given = np.asarray(differences, dtype=np.float64)
    size = len(given)
    mean, stderr = float(np.mean(given)), float(np.std(given, ddof=1)) / size**0.5
    rng = np.random.default_rng(seed)
    wanted, step = draws_for(size), _rows_at_once(size)
    found = [
        _distances(given[rng.integers(0, size, (min(step, wanted - done), size))], mean)
        for done in range(0, wanted, step)
    ]
    # No interpolation towards the infinite distances of resamples without spread.
    quantile = float(np.quantile(np.concatenate(found), 1 - alpha, method="lower"))
    return mean - quantile * stderr, mean + quantile * stderr


def _distances(resamples: Floats, mean: float) -> Floats:
    """The distance of each row's mean from `mean`, in its own standard errors."""
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
