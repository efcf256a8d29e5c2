from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prime_cli.core.errors import UsageError
from prime_cli.training.mixture import Place, mixed_order, own_example

SIZES = st.lists(st.integers(1, 40), min_size=1, max_size=4)


@given(example=st.integers(0, 10**9), index=st.integers(0, 5), more=st.integers(1, 5))
def test_a_number_says_which_example_of_which_environment(
    example: int, index: int, more: int
) -> None:
    count = index + more
    assert own_example(Place(index, count).number(example), count) == (index, example)
    assert Place().number(example) == example


@given(sizes=SIZES)
def test_without_ratios_each_example_comes_once_and_all_are_spread(sizes: list[int]) -> None:
    order = mixed_order([list(range(size)) for size in sizes])
    assert len(order) == len(set(order)) == sum(sizes)
    for index, size in enumerate(sizes):
        places = [at for at, number in enumerate(order) if number % len(sizes) == index]
        gaps = [b - a for a, b in pairwise(places)]
        assert max(gaps, default=0) <= sum(sizes) / size + len(sizes)


@given(data=st.data(), sizes=SIZES)
def test_ratios_are_kept_and_no_example_is_left_out(data: st.DataObject, sizes: list[int]) -> None:
    ratios = [data.draw(st.floats(0.1, 10)) for _ in sizes]
    order = mixed_order([list(range(size)) for size in sizes], ratios)
    found = Counter(number % len(sizes) for number in order)
    for index, (size, ratio) in enumerate(zip(sizes, ratios, strict=True)):
        assert len({number for number in order if number % len(sizes) == index}) == size
        # Rounded to whole examples, of which there are few.
        assert abs(found[index] - len(order) * ratio / sum(ratios)) <= len(sizes)


def test_ratios_that_need_too_long_an_order_are_refused() -> None:
    with pytest.raises(UsageError, match="an order of 10,001,000 examples"):
        mixed_order([range(1000), range(100)], [1e-4, 1.0])
