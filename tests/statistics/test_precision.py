import math
import statistics

from hypothesis import given
from hypothesis import strategies as st

from prime_cli.statistics.precision import bounds, precision, spread

rewards = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=60)


@given(rewards)
def test_mean_and_std_agree_with_the_standard_library(values: list[float]) -> None:
    found = spread(values)
    assert found.mean is not None
    assert found.std is not None
    assert math.isclose(found.mean, statistics.fmean(values), rel_tol=1e-9, abs_tol=1e-6)
    assert math.isclose(found.std, statistics.pstdev(values), rel_tol=1e-6, abs_tol=1e-3)


@given(rewards)
def test_order_does_not_change_the_mean(values: list[float]) -> None:
    assert spread(values).mean == spread(values[::-1]).mean


@given(rewards, st.integers(0, 50))
def test_the_bounds_hold_both_ways_to_count_errors(values: list[float], errored: int) -> None:
    found = bounds(values, errored)
    assert found.low is not None
    assert found.high is not None
    left_out = math.fsum(values) / len(values)
    as_zero = math.fsum([*values, *[0.0] * errored]) / (len(values) + errored)
    assert (found.low, found.high) == (min(left_out, as_zero), max(left_out, as_zero))


@given(rewards)
def test_without_errors_the_bounds_are_the_mean(values: list[float]) -> None:
    found = bounds(values, 0)
    assert found.low == found.high == spread(values).mean


def test_only_errors_is_a_score_of_zero_and_not_more() -> None:
    assert (bounds([], 3).low, bounds([], 3).high) == (0.0, 0.0)
    assert spread([]).mean is None


def test_nothing_finished_has_no_bounds() -> None:
    assert (bounds([], 0).low, bounds([], 0).high) == (None, None)


def test_std_is_the_population_one_that_vf_eval_prints() -> None:
    assert spread([0.0, 1.0]).std == 0.5


@given(rewards)
def test_with_one_rollout_the_standard_error_is_the_textbook_one(values: list[float]) -> None:
    found = precision([[value] for value in values])
    if len(values) < 2:
        assert found.stderr is None
    else:
        expected = statistics.stdev(values) / math.sqrt(len(values))
        assert found.stderr is not None
        assert math.isclose(found.stderr, expected, rel_tol=1e-6, abs_tol=1e-3)


def test_rollouts_that_repeat_each_other_tell_nothing_new() -> None:
    once = precision([[0.1], [0.5], [0.3]])
    thrice = precision([[0.1] * 3, [0.5] * 3, [0.3] * 3])
    assert once.stderr is not None
    assert thrice.stderr is not None
    assert math.isclose(once.stderr, thrice.stderr)


def test_one_example_has_neither_standard_error_nor_interval() -> None:
    found = precision([[0.1, 0.9], []])
    assert (found.stderr, found.interval) == (None, None)
