import pytest

from prime_cli.core.errors import UsageError
from prime_cli.runs.outcomes import OUTCOMES, parse_outcome
from tests.pages.listed import columns_of


@pytest.mark.parametrize(
    ("outcome", "places"),
    [
        ("wrong", [1, 4, 5]),
        ("flipped", [0, 1]),
        ("errored", [3]),
        ("truncated", [5]),
        ("long", [5]),
    ],
)
def test_each_outcome_has_its_rollouts(outcome: str, places: list[int]) -> None:
    columns = columns_of([[0.5, 0.4], [1.0, None], [0.0, 0.25]])
    assert outcome in OUTCOMES
    assert columns.having(outcome) == places


def test_no_rollout_has_an_outcome_in_a_run_without_any() -> None:
    columns = columns_of([])
    assert [columns.having(outcome) for outcome in OUTCOMES] == [[]] * len(OUTCOMES)
    assert list(columns.rows) == []


def test_a_rollout_is_beside_the_one_whose_reward_differs_most() -> None:
    columns = columns_of([[0.5, None, 0.9, 0.0], [1.0], [None, None]])
    assert [columns.contrast(place) for place in range(7)] == [3, 0, 3, 2, None, 6, 5]


def test_an_outcome_that_is_none_is_refused() -> None:
    assert parse_outcome(" Wrong ") == "wrong"
    with pytest.raises(UsageError, match="`bad` is not an outcome") as raised:
        parse_outcome("bad")
    assert "flipped" in (raised.value.hint or "")
