from array import array

from hypothesis import given
from hypothesis import strategies as st

from prime_cli.runs.tally import Tally
from tests.runs.rows import FAILED, row


def tally_of(*rows: object) -> Tally:
    tally = Tally()
    for each in rows:
        tally.add(each)  # type: ignore[arg-type]
    return tally


def test_a_later_attempt_replaces_an_earlier_one() -> None:
    tally = tally_of(row(0, reward=None), row(0, reward=0.5, attempt=2))
    assert (tally.scored, tally.errored) == (1, 0)
    assert list(tally.rewards()) == [0.5]


def test_an_earlier_attempt_that_comes_late_changes_nothing() -> None:
    tally = tally_of(row(0, reward=0.5, attempt=2), row(0, reward=0.1, attempt=1))
    assert list(tally.rewards()) == [0.5]
    assert tally.running_mean == 0.5


def test_errors_are_not_scores() -> None:
    tally = tally_of(row(0, reward=1.0, metrics={"f": 1}), row(1, reward=None, metrics={"f": 0}))
    assert tally.running_mean == 1.0
    assert tally.metrics() == {"f": array("d", [1.0])}


def test_rewards_by_rollout_follow_the_examples() -> None:
    tally = tally_of(row(1, 0, 0.1), row(0, 1, 0.2), row(0, 0, 0.3), row(1, 1, None))
    assert tally.by_rollout() == {0: [0.3, 0.1], 1: [0.2, None]}


def test_errors_are_counted_by_class_and_type_with_the_first_message() -> None:
    tally = tally_of(row(0, reward=None), row(1, reward=None), row(2))
    assert tally.errors() == [(FAILED, 2)]


def test_metrics_that_are_not_numbers_are_omitted() -> None:
    tally = tally_of(row(0, metrics={"turns": 2, "why": "x", "odd": float("nan"), "none": None}))
    assert tally.metrics() == {"turns": array("d", [2.0])}


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.none() | st.floats(-5, 5))))
def test_the_running_mean_is_that_of_the_rewards(
    finished: list[tuple[int, int, float | None]],
) -> None:
    tally = tally_of(*(row(e, r, reward, attempt=n) for n, (e, r, reward) in enumerate(finished)))
    rewards = tally.rewards()
    assert tally.scored == len(rewards)
    assert tally.scored + tally.errored == tally.finished
    expected = sum(rewards) / len(rewards) if rewards else None
    if expected is None:
        assert tally.running_mean is None
    else:
        assert abs((tally.running_mean or 0.0) - expected) < 1e-9
