"""What is promised holds in simulation; the long one is benchmarks/statistics/calibration.py."""

import pytest

from tests.helpers.seed import read_seed
from tests.runs.comparison.simulation import WORLDS, World, coverage, share_found

TIMES = 400
SEED = read_seed()


@pytest.mark.slow
@pytest.mark.sample(2, "world")
@pytest.mark.parametrize("world", WORLDS, ids=lambda world: world.name)
def test_runs_that_do_not_differ_are_seldom_found_to(world: World) -> None:
    found = share_found(world, 0.0, TIMES, seed=SEED)
    # Four standard errors of a share of 5 %: once in 30,000 times by chance.
    assert found <= 0.05 + 4 * (0.05 * 0.95 / TIMES) ** 0.5


@pytest.mark.slow
@pytest.mark.sample(2, "world")
@pytest.mark.parametrize("world", WORLDS, ids=lambda world: world.name)
def test_the_interval_holds_the_true_difference(world: World) -> None:
    found = coverage(world, 0.1, TIMES, seed=SEED)
    assert found.covered >= 0.93 - 4 * (0.07 * 0.93 / TIMES) ** 0.5
