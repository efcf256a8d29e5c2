"""How much of a resource may be taken, which clients and hubs judge by one rule."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prime_cli.core.errors import UsageError
from prime_cli.wire.offers import Spec, check_bounds, check_count

SMALL = st.integers(0, 60)


@given(
    st.builds(
        Spec,
        min_count=st.none() | SMALL,
        max_count=st.none() | SMALL,
        step=st.none() | st.integers(1, 12),
    ),
    SMALL,
)
def test_what_is_within_the_bounds_and_on_a_step_is_taken_and_nothing_else(
    spec: Spec, count: int
) -> None:
    step = spec.step or 1
    most = count if spec.max_count is None else spec.max_count
    fits = 0 < count <= most and count in range(spec.min_count or step, count + 1, step)
    try:
        check_bounds(spec, count, "A disk has")
    except UsageError:
        assert not fits
    else:
        assert fits


@pytest.mark.parametrize(
    ("spec", "count", "message", "hint"),
    [
        (Spec(), 8, "`--vcpus` cannot be chosen for this offer", "omit it"),
        (Spec(default_count=4), 8, "… for this offer: it comes with 4", "omit it"),
        (Spec(min_count=2), 1, "`--vcpus` of this offer is at least 2, not 1", None),
        (Spec(max_count=16), 32, "`--vcpus` of this offer is from 1 to 16, not 32", None),
        (
            Spec(min_count=4, max_count=16, step=4),
            15,
            "`--vcpus` of this offer is from 4 in steps of 4, not 15",
            "the nearest is 12",
        ),
    ],
)
def test_a_refusal_says_what_would_do(
    spec: Spec, count: int, message: str, hint: str | None
) -> None:
    with pytest.raises(UsageError) as caught:
        check_count(spec, count, "--vcpus")
    assert caught.value.message.endswith(message.removeprefix("…"))
    assert caught.value.hint == hint


def test_what_comes_with_it_may_be_named_and_need_not_be() -> None:
    check_count(Spec(default_count=4), 4, "--vcpus")
    check_count(Spec(), None, "--vcpus")
