"""Usage adds up; a budget ends when a cap is reached, once, and says why."""

from hypothesis import given
from hypothesis import strategies as st

from prime_cli.models.prices import FREE, Budget, Price, Spend, TokenUsage, format_cost


def test_usage_adds_field_by_field() -> None:
    assert TokenUsage(1, 2, 3, 4, 5, 6, 7) + TokenUsage(1, 1, 1, 1, 1, 1, 1) == TokenUsage(
        2, 3, 4, 5, 6, 7, 8
    )
    assert sum([TokenUsage(1), TokenUsage(2)], TokenUsage()) == TokenUsage(3)


MINI = Price(input=0.40, output=1.60, cached=0.10)

usages = st.builds(
    TokenUsage,
    calls=st.just(1),
    input=st.integers(0, 10**6),
    cached=st.integers(0, 10**6),
    output=st.integers(0, 10**6),
)


def test_a_million_tokens_cost_what_the_table_says() -> None:
    assert Spend.of(TokenUsage(1, input=10**6), MINI).usd == 0.40
    assert Spend.of(TokenUsage(1, output=10**6), MINI).usd == 1.60
    assert Spend.of(TokenUsage(1, input=10**6, cached=10**6), MINI).usd == 0.10


def test_reasoning_tokens_are_a_part_of_the_output() -> None:
    thought = TokenUsage(1, output=100, reasoning=90)
    assert Spend.of(thought, MINI).usd == Spend.of(TokenUsage(1, output=100), MINI).usd


def test_cached_tokens_cost_as_the_others_where_their_price_is_not_known() -> None:
    assert Spend.of(TokenUsage(1, input=10, cached=10), Price(2.0, 4.0)).usd == 2e-5


def test_more_cached_tokens_than_there_were_do_not_earn_money() -> None:
    assert Spend.of(TokenUsage(1, input=10, cached=1000), MINI).usd == 1e-6


def test_what_has_no_price_is_unknown_and_the_known_part_is_kept() -> None:
    known = Spend.of(TokenUsage(1, output=10**6), MINI)
    both = known + Spend.of(TokenUsage(1, output=5), None)
    assert (both.usd, both.known_usd, both.unpriced) == (None, 1.6, 1)


def test_an_answer_that_was_not_counted_has_no_price() -> None:
    assert Spend.of(TokenUsage(calls=1, uncounted=1), MINI).usd is None


def test_built_in_models_cost_nothing() -> None:
    assert Spend.of(TokenUsage(1, 5, 0, 5, estimated=1), FREE).usd == 0


@given(st.lists(usages, max_size=20), st.randoms())
def test_a_sum_of_money_is_the_same_in_every_order(calls: list[TokenUsage], random: object) -> None:
    spends = [Spend.of(usage, MINI) for usage in calls]
    shuffled = list(spends)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    total = sum(spends, Spend())
    assert sum(shuffled, Spend()) == total
    assert total - sum(spends[:3], Spend()) == sum(spends[3:], Spend())


PRICE = Price(input=1.0, output=2.0)
A_DOLLAR = Spend.of(TokenUsage(1, input=10**6), PRICE)
UNKNOWN = Spend.of(TokenUsage(1, input=10**6), None)


def test_a_cap_in_usd_is_reached_by_what_is_known_to_be_spent() -> None:
    budget = Budget(max_cost=2.0)
    budget.count(A_DOLLAR)
    budget.count(UNKNOWN)
    assert budget.reason is None
    budget.count(A_DOLLAR)
    assert budget.reason == "The cap of $2.00 is reached"


def test_a_token_budget_counts_what_was_read_and_what_was_written() -> None:
    budget = Budget(token_budget=100)
    budget.count(Spend(TokenUsage(1, input=60, cached=60, output=39, reasoning=39)))
    assert budget.reason is None
    budget.count(Spend(TokenUsage(1, output=1)))
    assert budget.reason == "The token budget of 100 is used up"


def test_what_earlier_sessions_spent_counts() -> None:
    assert Budget(max_cost=1.0, spent=A_DOLLAR).reason is not None


def test_listeners_are_called_once_with_the_first_reason() -> None:
    heard: list[str] = []
    budget = Budget(token_budget=1)
    budget.on_stop(lambda: heard.append("early"))
    budget.stop("first")
    budget.stop("second")
    budget.count(Spend(TokenUsage(1, output=5)))
    budget.on_stop(lambda: heard.append("late"))
    assert heard == ["early", "late"]
    assert budget.reason == "first"


def test_finished_listeners_are_not_called() -> None:
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
        budget.count(Spend(TokenUsage(1, output=output)))
        assert (budget.reason is not None) == (sum(outputs[: n + 1]) >= cap)


def test_a_sum_with_an_unknown_part_is_at_least_the_known_one() -> None:
    assert format_cost(A_DOLLAR) == "$1.00"
    assert format_cost(A_DOLLAR + UNKNOWN) == "at least $1.00"
    assert format_cost(UNKNOWN) == "unknown"
    assert format_cost(Spend()) == "$0.00"
