"""Power is as promised in simulation; the long one is benchmarks/statistics/power.py."""

import pytest

from tests.helpers.seed import read_seed
from tests.runs.comparison.delivered_power import (
    DESIGNS,
    Design,
    delivered,
    delivered_one_by_one,
)

PAIRS = 2_000
SLICE = [DESIGNS[place] for place in (1, 2, 3, 5, 6, 9, 11)]
SEED = read_seed()


@pytest.mark.slow
@pytest.mark.sample(3, "design")
@pytest.mark.parametrize("design", SLICE, ids=lambda design: f"{design.name}, {design.rollouts}")
def test_compare_finds_a_difference_as_often_as_power_promises(design: Design) -> None:
    need = design.need()
    assert need.examples is not None
    assert need.expected_power is not None
    found = delivered(design, need.examples, PAIRS, seed=SEED)
    # 0.02, and four standard errors of what is drawn here.
    assert abs(found - need.expected_power) <= 0.02 + 4 * (0.16 / PAIRS) ** 0.5


@pytest.mark.slow
@pytest.mark.parametrize("design", [DESIGNS[5]], ids=lambda design: design.name)
def test_judging_all_pairs_at_once_is_judging_each_as_compare_does(design: Design) -> None:
    at_once = delivered(design, 30, PAIRS, seed=SEED)
    singly = delivered_one_by_one(design, 30, 400, seed=SEED)
    assert abs(at_once - singly) <= 4 * (0.25 / 400 + 0.25 / PAIRS) ** 0.5
