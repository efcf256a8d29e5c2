import math

from hypothesis import given
from hypothesis import strategies as st

from prime_cli.evals.viewer.filters import parse_reward
from prime_cli.pages.runs import RunFilter
from prime_cli.pages.sample_filter import sample_query


@given(
    st.sampled_from(["", "=", "<", "<=", ">", ">=", ".."]),
    st.sampled_from([-1.0, 0.0, 0.25, 0.5, 1.0, 3.5]),
    st.sampled_from([-1.0, 0.0, 0.25, 0.5, 1.0, 3.5]),
)
def test_the_bounds_for_a_hub_mean_what_the_filter_of_local_runs_means(
    sign: str, limit: float, reward: float
) -> None:
    text = f"{limit}..1" if sign == ".." else f"{sign}{limit}"

    query = sample_query(RunFilter(reward=text), 1)

    assert query is not None
    low = -math.inf if query.reward_above is None else query.reward_above
    high = math.inf if query.reward_below is None else query.reward_below
    assert (low < reward < high) == parse_reward(text)(reward)


def test_a_filter_that_is_none_is_not_sent() -> None:
    assert sample_query(RunFilter(reward="high"), 1) is None
    failed = sample_query(RunFilter(reward="none", text="x"), 2)
    assert failed is not None
    assert (failed.errors_only, failed.search, failed.page) == (True, "x", 2)
