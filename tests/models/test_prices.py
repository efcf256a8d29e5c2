"""Usage adds up."""

from hypothesis import given
from hypothesis import strategies as st

from prime_cli.models.prices import FREE, Price, Spend, Usage


def test_usage_adds_field_by_field() -> None:
    assert Usage(1, 2, 3, 4, 5, 6, 7) + Usage(1, 1, 1, 1, 1, 1, 1) == Usage(2, 3, 4, 5, 6, 7, 8)
    assert sum([Usage(1), Usage(2)], Usage()) == Usage(3)


MINI = Price(input=0.40, output=1.60, cached=0.10)

usages = st.builds(
    Usage,
    calls=st.just(1),
    input=st.integers(0, 10**6),
    cached=st.integers(0, 10**6),
    output=st.integers(0, 10**6),
)


def test_a_million_tokens_cost_what_the_table_says() -> None:
    assert Spend.of(Usage(1, input=10**6), MINI).usd == 0.40
    assert Spend.of(Usage(1, output=10**6), MINI).usd == 1.60
    assert Spend.of(Usage(1, input=10**6, cached=10**6), MINI).usd == 0.10


def test_reasoning_tokens_are_a_part_of_the_output() -> None:
    thought = Usage(1, output=100, reasoning=90)
    assert Spend.of(thought, MINI).usd == Spend.of(Usage(1, output=100), MINI).usd


def test_cached_tokens_cost_as_the_others_where_their_price_is_not_known() -> None:
    assert Spend.of(Usage(1, input=10, cached=10), Price(2.0, 4.0)).usd == 2e-5


def test_more_cached_tokens_than_there_were_do_not_earn_money() -> None:
    assert Spend.of(Usage(1, input=10, cached=1000), MINI).usd == 1e-6


def test_what_has_no_price_is_unknown_and_the_known_part_is_kept() -> None:
    known = Spend.of(Usage(1, output=10**6), MINI)
    both = known + Spend.of(Usage(1, output=5), None)
    assert (both.usd, both.known_usd, both.unpriced) == (None, 1.6, 1)


def test_an_answer_that_was_not_counted_has_no_price() -> None:
    assert Spend.of(Usage(calls=1, uncounted=1), MINI).usd is None


def test_built_in_models_cost_nothing() -> None:
    assert Spend.of(Usage(1, 5, 0, 5, estimated=1), FREE).usd == 0


@given(st.lists(usages, max_size=20), st.randoms())
def test_a_sum_of_money_is_the_same_in_every_order(calls: list[Usage], random: object) -> None:
    spends = [Spend.of(usage, MINI) for usage in calls]
    shuffled = list(spends)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    total = sum(spends, Spend())
    assert sum(shuffled, Spend()) == total
    assert total - sum(spends[:3], Spend()) == sum(spends[3:], Spend())
