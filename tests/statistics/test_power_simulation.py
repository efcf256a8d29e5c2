import numpy as np
import pytest

from prime_cli.statistics.power import power_of_t
from prime_cli.statistics.power_simulation import Shares, power_of_normal
from prime_cli.statistics.resampling import share_rejected, sign_flip


@pytest.mark.parametrize("size", [6, 9, 12, 20, 60])
def test_the_simulation_finds_what_the_test_of_compare_finds(size: int) -> None:
    rows = np.random.default_rng(3).normal(0.6, 1, (300, size))
    found = np.mean([sign_flip(row, seed=1) <= 0.05 for row in rows])
    assert share_rejected(rows, alpha=0.05) == pytest.approx(float(found), abs=0.02)


def test_rewards_of_zero_and_one_have_the_ties_that_they_have_in_compare() -> None:
    rows = np.random.default_rng(3).binomial(4, 0.6, (300, 12)) / 4 - 0.25
    found = np.mean([sign_flip(row, seed=1) <= 0.05 for row in rows])
    assert share_rejected(rows, alpha=0.05) == float(found)


def test_five_examples_can_never_show_a_difference() -> None:
    assert power_of_normal(1e9, 1.0, 5, alpha=0.05) == 0
    assert power_of_normal(1e9, 1.0, 6, alpha=0.05) == 1


def test_normal_differences_come_to_the_power_of_the_t_test() -> None:
    assert power_of_normal(0.9, 1.0, 13, alpha=0.05) == pytest.approx(
        power_of_t(0.9, 13, alpha=0.05), abs=0.02
    )


def test_many_examples_come_to_the_power_of_the_t_test_too() -> None:
    shares = Shares(0.6, 0.67, 0.5, 0.5, 4)
    assert shares.power(249, alpha=0.05) == pytest.approx(shares.power(250, alpha=0.05), abs=0.02)


@pytest.mark.parametrize("icc", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("correlation", [0.0, 0.5, 1.0])
def test_simulated_rewards_vary_as_was_asked(icc: float, correlation: float) -> None:
    shares = Shares(0.5, 0.6, icc, correlation, 4)
    differences = shares.differences(50)
    assert float(np.mean(differences)) == pytest.approx(0.1, abs=0.01)
    if correlation < 1:
        # Models of unlike rates cannot correlate fully.
        assert float(np.std(differences)) == pytest.approx(shares.spread(), rel=0.03)
