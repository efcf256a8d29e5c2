import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from prime_cli.evals.comparison.power import (
    detectable_by_mcnemar,
    detectable_by_t,
    discordance_of,
    examples_by_mcnemar,
    examples_by_t,
    power_of_t,
    spread_of_differences,
)

USUAL = {"alpha": 0.05, "power": 0.8}


def test_mcnemar_agrees_with_the_example_of_connor() -> None:
    """Connor, Biometrics 43 (1987), p. 209, as on powerandsamplesize.com: p10 = 0.05 and
    p01 = 0.45 need 23 pairs, two-sided at 0.05 with 80 % power.
    """
    assert examples_by_mcnemar(0.40, 0.50, **USUAL) == 23


def test_mcnemar_agrees_with_another_calculator_of_connors_formula() -> None:
    """p10 - p01 = 0.15 where 45 % change needs 155 pairs, at 0.05 with 80 % power."""
    assert examples_by_mcnemar(0.15, 0.45, **USUAL) == 155


def test_t_agrees_with_the_example_of_dalgaard() -> None:
    """Dalgaard, Introductory Statistics with R (2008), section 9.4: a difference of 10 where
    pairs differ with a deviation of 10 sqrt(2), power 0.85: n = 19.96892.
    """
    wide = 10 * math.sqrt(2)
    assert examples_by_t(10, wide, alpha=0.05, power=0.85) == 20
    assert power_of_t(10 / wide, 19.96892, alpha=0.05) == pytest.approx(0.85, abs=1e-5)


def test_t_agrees_with_the_medium_effect_of_cohen() -> None:
    """G*Power 3 and R's pwr: a paired t-test finds dz = 0.5 with 34 pairs (n = 33.36713)."""
    assert examples_by_t(0.5, 1, **USUAL) == 34
    assert power_of_t(0.5, 33.36713, alpha=0.05) == pytest.approx(0.8, abs=1e-5)


def test_many_examples_come_to_the_formula_of_miller() -> None:
    """Miller (2024), section 5: n = (z(0.975) + z(0.8))^2 (w^2 + s_A^2 / K + s_B^2 / K) / d^2;
    w^2 = 1/9 without noise within examples and d = 0.03 need 969.
    """
    needed = examples_by_t(0.03, 1 / 3, **USUAL)
    assert needed is not None
    assert abs(needed - 969) <= 2


@settings(deadline=None)
@given(st.floats(0.01, 0.99), st.floats(0.01, 0.99), st.integers(1, 64))
def test_the_parts_of_the_variance_are_those_of_miller(
    icc: float, correlation: float, rollouts: int
) -> None:
    variance = 0.24
    between_models = 2 * variance * icc * (1 - correlation)
    within = variance * (1 - icc)
    found = spread_of_differences(variance, icc=icc, correlation=correlation, rollouts=rollouts)
    assert found**2 == pytest.approx(between_models + 2 * within / rollouts)


@settings(deadline=None)
@given(st.floats(0.05, 0.9), st.integers(10, 2000))
def test_the_detectable_difference_needs_as_many_examples_by_t(wide: float, size: int) -> None:
    found = detectable_by_t(wide, size, **USUAL)
    assert found is not None
    needed = examples_by_t(found, wide, **USUAL)
    assert needed is not None
    assert abs(needed - size) <= 1


@settings(deadline=None)
@given(st.floats(0.02, 1.0), st.integers(20, 5000))
def test_the_detectable_difference_needs_as_many_examples_by_mcnemar(
    discordance: float, size: int
) -> None:
    found = detectable_by_mcnemar(discordance, size, **USUAL)
    if found is not None:
        assert examples_by_mcnemar(found, max(discordance, found), **USUAL) <= size
        less = found * 0.99
        assert examples_by_mcnemar(less, max(discordance, less), **USUAL) >= size


@pytest.mark.parametrize("size", [2, 3, 10, 1000, 10_000_000])
@pytest.mark.parametrize("effect", [0.0, 0.001, 0.1, 1.0, 5.0, 1000.0])
def test_power_is_a_number_between_alpha_and_one(size: int, effect: float) -> None:
    assert 0.05 - 1e-9 <= power_of_t(effect, size, alpha=0.05) <= 1 + 1e-9


def test_three_examples_of_zero_and_one_show_nothing() -> None:
    assert detectable_by_mcnemar(0.1, 3, **USUAL) is None
    assert detectable_by_t(0.3, 1, **USUAL) is None


def test_a_difference_of_nearly_nothing_is_out_of_reach() -> None:
    assert examples_by_t(1e-6, 0.5, **USUAL) is None


@settings(deadline=None)
@given(st.floats(0, 1), st.floats(0, 1), st.floats(0, 1))
def test_as_many_examples_change_as_the_rates_allow(a: float, b: float, agreement: float) -> None:
    found = discordance_of(a, b, agreement)
    assert abs(a - b) <= found + 1e-12
    assert found <= min(a + b, 2 - a - b) + 1e-12


def test_the_discordance_agrees_with_statulator() -> None:
    """statulator.com, "Comparing Paired Proportions": rates 0.75 and 0.85 that correlate by 0.6
    have b = p0 q1 - r sqrt(p0 q0 p1 q1) and c = b + p1 - p0.
    """
    b = 0.75 * 0.15 - 0.6 * math.sqrt(0.75 * 0.25 * 0.85 * 0.15)
    assert discordance_of(0.75, 0.85, 0.6) == pytest.approx(2 * b + 0.1)


def test_the_power_holds_in_simulation() -> None:
    differences = np.random.default_rng(11).normal(0.5, 1, (4000, 34))
    found = stats.ttest_1samp(differences, 0, axis=1).pvalue
    assert np.mean(np.asarray(found) < 0.05) == pytest.approx(0.808, abs=0.02)
