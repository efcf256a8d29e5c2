import math
import statistics

from hypothesis import given
from hypothesis import strategies as st

from prime_cli.hub.services.evaluations.statistics import RunningMoments, SampleTotals
from prime_cli.wire.codec import decode, encode

numbers = st.floats(-1e6, 1e6)


def moments_of(values: list[float]) -> RunningMoments:
    moments = RunningMoments()
    for value in values:
        moments.add(value)
    return moments


@given(st.lists(st.lists(numbers, max_size=20), min_size=1, max_size=6))
def test_merged_parts_equal_the_whole(parts: list[list[float]]) -> None:
    merged = RunningMoments()
    for part in parts:
        merged.merge(moments_of(part))
    whole = [value for part in parts for value in part]
    assert merged.count == len(whole)
    if whole:
        assert math.isclose(merged.mean, statistics.fmean(whole), rel_tol=1e-9, abs_tol=1e-6)
        assert (merged.least, merged.most) == (min(whole), max(whole))
    deviation = merged.deviation()
    if len(whole) > 1:
        assert deviation is not None
        assert math.isclose(deviation, statistics.stdev(whole), rel_tol=1e-6, abs_tol=1e-3)
    else:
        assert deviation is None


def test_numbers_too_large_to_square_are_omitted() -> None:
    tally = SampleTotals()
    tally.add(1e300, {"a": -1e200, "b": 1e90}, failed=False)
    tally.add(-1.0, {"b": -1e90}, failed=True)
    assert tally.mean_reward() == -1.0
    assert set(tally.scores) == {"reward", "b"}
    assert decode(encode(tally), SampleTotals) == tally


def test_names_are_bounded() -> None:
    tally, other = SampleTotals(), SampleTotals()
    for number in range(300):
        tally.add(None, {f"n{number}": 1.0}, failed=False)
        other.add(None, {f"m{number}": 1.0}, failed=False)
    tally.merge(other)
    assert len(tally.scores) == 200
