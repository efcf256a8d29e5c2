"""What became of the rewards, rollout by rollout."""

from hypothesis import given
from hypothesis import strategies as st

from prime_cli.evals.rerun.rerun import ChangedReward, changed_rewards
from tests.runs.rows import row

REWARDS = st.dictionaries(
    st.tuples(st.integers(0, 5), st.integers(0, 3)),
    st.one_of(st.none(), st.floats(-10, 10)),
    min_size=1,
)


def test_each_difference_is_reported_with_both_rewards() -> None:
    before = [row(0, 0, 1.0), row(0, 1, None), row(1, 0, 0.1 + 0.2), row(2, 0, 1.0)]
    now = [row(0, 0, 0.5), row(0, 1, 1.0), row(1, 0, 0.3), row(3, 0, 1.0)]
    changes = changed_rewards(before, now)
    assert changes.first == [ChangedReward(0, 0, 1.0, 0.5), ChangedReward(0, 1, None, 1.0)]
    assert (changes.same, changes.different) == (1, 2)
    assert (changes.only_before, changes.only_now) == (1, 1)
    assert (changes.before, changes.now) == (0.65, 0.4)


@given(REWARDS)
def test_a_run_is_the_same_as_itself(rewards: dict[tuple[int, int], float | None]) -> None:
    rows = [row(*pair, reward) for pair, reward in rewards.items()]
    changes = changed_rewards(rows, reversed(rows))
    assert (changes.same, changes.different) == (len(rows), 0)
    assert changes.before == changes.now


@given(REWARDS, REWARDS)
def test_every_rollout_is_counted_once(
    was: dict[tuple[int, int], float | None], now: dict[tuple[int, int], float | None]
) -> None:
    changes = changed_rewards(
        [row(*pair, reward) for pair, reward in was.items()],
        [row(*pair, reward) for pair, reward in now.items()],
    )
    assert changes.same + changes.different + changes.only_before == len(was)
    assert changes.same + changes.different + changes.only_now == len(now)
