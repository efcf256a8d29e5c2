"""A budget ends when a cap is reached, once, and says why."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prime_cli.models.budget import Budget, format_cost, format_usd
from prime_cli.models.prices import Price, Spend, Usage

PRICE = Price(input=1.0, output=2.0)
A_DOLLAR = Spend.of(Usage(1, input=10**6), PRICE)
UNKNOWN = Spend.of(Usage(1, input=10**6), None)


def test_a_cap_in_usd_is_reached_by_what_is_known_to_be_spent() -> None:
    budget = Budget(max_cost=2.0)
    budget.count(A_DOLLAR)
    budget.count(UNKNOWN)
    assert budget.reason is None
    budget.count(A_DOLLAR)
    assert budget.reason == "The cap of $2.00 is reached"


def test_a_token_budget_counts_what_was_read_and_what_was_written() -> None:
    budget = Budget(token_budget=100)
    budget.count(Spend(Usage(1, input=60, cached=60, output=39, reasoning=39)))
    assert budget.reason is None
    budget.count(Spend(Usage(1, output=1)))
    assert budget.reason == "The token budget of 100 is used up"


def test_what_earlier_sessions_spent_counts() -> None:
    assert Budget(max_cost=1.0, spent=A_DOLLAR).reason is not None


def test_listeners_hear_of_the_end_once_and_the_first_reason_stands() -> None:
    heard: list[str] = []
    budget = Budget(token_budget=1)
    budget.on_stop(lambda: heard.append("early"))
    budget.stop("first")
    budget.stop("second")
    budget.count(Spend(Usage(1, output=5)))
    budget.on_stop(lambda: heard.append("late"))
    assert heard == ["early", "late"]
    assert budget.reason == "first"


def test_who_is_over_does_not_hear_of_the_end() -> None:
    heard: list[str] = []
    budget = Budget(token_budget=1)

    def listener() -> None:
        heard.append("late")

    budget.on_stop(listener)
    budget.forget(listener)
    budget.forget(listener)
    budget.stop("used up")
    assert heard == []


@given(st.lists(st.integers(0, 40), max_size=30), st.integers(1, 300))
def test_a_budget_ends_exactly_when_the_sum_reaches_it(outputs: list[int], cap: int) -> None:
    budget = Budget(token_budget=cap)
    for n, output in enumerate(outputs):
        budget.count(Spend(Usage(1, output=output)))
        assert (budget.reason is not None) == (sum(outputs[: n + 1]) >= cap)


@pytest.mark.parametrize(
    ("amount", "said"),
    [
        (0, "$0.00"),
        (1234.5, "$1,234.50"),
        (0.42, "$0.42"),
        (0.0084, "$0.0084"),
        (0.000012, "$0.000012"),
    ],
)
def test_small_amounts_keep_two_digits(amount: float, said: str) -> None:
    assert format_usd(amount) == said


def test_a_sum_with_an_unknown_part_is_at_least_the_known_one() -> None:
    assert format_cost(A_DOLLAR) == "$1.00"
    assert format_cost(A_DOLLAR + UNKNOWN) == "at least $1.00"
    assert format_cost(UNKNOWN) == "unknown"
    assert format_cost(Spend()) == "$0.00"
