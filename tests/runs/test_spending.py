"""What a run spent, written down and summed up again."""

from hypothesis import given
from hypothesis import strategies as st

from prime_cli.models.gateway.ledger import ServedBy
from prime_cli.models.prices import ChargeKey, Charges, Price, Spend, TokenUsage
from prime_cli.runs.spending import (
    ServedModel,
    Spending,
    counts_of,
    read_charges,
    served_models,
    served_words,
    spend_of,
    without,
    write_charges,
)
from tests.runs.rows import row

PRICE = Price(input=0.4, output=1.6, cached=0.1)

spends = st.builds(
    Spend.of,
    st.builds(
        TokenUsage,
        calls=st.just(1),
        input=st.integers(0, 10**9),
        output=st.integers(0, 10**9),
        reasoning=st.integers(0, 10**9),
    ),
    st.sampled_from([PRICE, None]),
)
payers = st.builds(ChargeKey, st.sampled_from(["policy", "judge"]), st.sampled_from(["m", "n/x"]))
charges = st.dictionaries(payers, spends, max_size=4)


@given(spends, spends)
def test_what_is_written_is_read_again_to_the_last_picodollar(one: Spend, two: Spend) -> None:
    assert spend_of(counts_of(one + two)) == one + two


@given(charges)
def test_charges_are_read_as_they_were_written(spent: Charges) -> None:
    assert read_charges(write_charges(spent)) == spent


@given(charges, charges)
def test_the_whole_without_a_part_is_the_rest(part: Charges, rest: Charges) -> None:
    whole = Spending("m", part)
    whole.add(rest)
    assert without(whole.charges(), part) == rest


def test_the_lines_of_a_journal_add_up_all_attempts_roles_and_strangers() -> None:
    policy = Spend.of(TokenUsage(calls=1, input=10, output=5), PRICE)
    judge = {ChargeKey("judge", "big"): Spend.of(TokenUsage(calls=1, input=100), None)}
    stranger = {ChargeKey("unattributed", "m"): policy}
    spending = Spending("m")
    spending.add_row(row(0, reward=None, usage=counts_of(policy), judges=write_charges(judge)))
    spending.add_row(row(0, attempt=2, usage=counts_of(policy), apart=write_charges(stranger)))
    assert spending.by_role() == {
        "policy": policy + policy,
        "judge": judge[ChargeKey("judge", "big")],
        "unattributed": policy,
    }
    assert spending.by_model() == {
        "m": policy + policy + policy,
        "big": judge[ChargeKey("judge", "big")],
    }
    assert spending.record()["cost"] is None
    assert spending.record()["known_cost"] == 3 * 12e-6


def test_a_line_without_calls_through_the_gateway_adds_nothing() -> None:
    spending = Spending("m")
    spending.add_row(row(0, usage={"input": 5, "output": 5}))
    spending.add_row(row(1))
    assert spending.total == Spend()


def test_sessions_add_up_and_the_policy_comes_first() -> None:
    before = [ServedModel(requested="m", model="m-1", calls=2)]
    counted = {ServedBy("judge", "j", "j", None): 9, ServedBy("policy", "m", "m-1", None): 3}
    assert [(each.role, each.calls) for each in served_models(before, counted)] == [
        ("policy", 5),
        ("judge", 9),
    ]


def test_the_model_that_was_requested_is_not_mentioned_and_another_one_is() -> None:
    assert served_words([ServedModel(requested="m", model="m", calls=2)]) == []
    assert served_words([ServedModel(requested="m", calls=2)]) == []
    assert served_words([ServedModel(requested="m", model="m-2026", calls=1200)]) == [
        "m-2026 in 1,200 calls"
    ]


def test_a_change_of_the_system_and_a_judge_are_reported() -> None:
    changed = [
        ServedModel(requested="m", model="m", system_fingerprint="fp_1", calls=2),
        ServedModel(requested="m", model="m", system_fingerprint="fp_2", calls=1),
        ServedModel(role="judge", requested="j", model="k", calls=3),
    ]
    assert served_words(changed) == [
        "m (fp_1) in 2 calls",
        "m (fp_2) in 1 call",
        "k in 3 calls for judge",
    ]
