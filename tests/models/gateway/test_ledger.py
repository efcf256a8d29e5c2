"""The ledger loses no call, and holds nothing for longer than it must."""

from hypothesis import given
from hypothesis import strategies as st

from prime_cli.models.gateway.calls import CallIdentity, UsageObject
from prime_cli.models.gateway.ledger import Ledger
from prime_cli.models.prices import ChargeKey, Charges, Price, Spend, TokenUsage, add_charges

PRICE = Price(input=0.4, output=1.6, cached=0.1)

calls = st.tuples(
    st.just("call"),
    st.builds(
        CallIdentity,
        st.one_of(st.none(), st.integers(0, 2)),
        st.integers(0, 1),
        st.integers(1, 3),
        st.sampled_from(["policy", "judge"]),
    ),
    st.sampled_from(["mine", "alias", "theirs", None]),
    st.builds(TokenUsage, calls=st.just(1), input=st.integers(0, 9), output=st.integers(0, 9)),
)
settles = st.tuples(st.just("settle"), st.integers(0, 2), st.integers(0, 1))
aparts = st.tuples(st.just("apart"))


@given(st.lists(st.one_of(calls, settles, aparts), max_size=40))
def test_no_token_is_lost_or_counted_twice_in_any_order(steps: list[tuple[object, ...]]) -> None:
    ledger = Ledger(("mine", "alias"))
    counted, taken = Spend(), Charges()
    for step in steps:
        match step:
            case ("call", CallIdentity() as identity, model, TokenUsage() as usage):
                spend = Spend.of(usage, PRICE if model != "theirs" else None)
                counted += spend
                ledger.add(identity, str(model) if model else None, spend)
            case ("settle", int(example), int(rollout)):
                add_charges(taken, ledger.settle(example, rollout))
            case _:
                add_charges(taken, ledger.settle_apart())
    for example in range(3):
        for rollout in range(2):
            add_charges(taken, ledger.settle(example, rollout))
    add_charges(taken, ledger.settle_apart())
    assert taken == ledger.totals()
    assert sum(taken.values(), Spend()) == counted
    assert ledger.total() == counted.usage
    assert sum(ledger.by_role().values(), TokenUsage()) == counted.usage


def test_a_settled_rollout_gives_all_its_attempts_roles_and_models_once() -> None:
    ledger = Ledger(("mine",))
    one = Spend(TokenUsage(calls=1, input=5))
    ledger.add(CallIdentity(3, 1, 1, "policy"), "mine", one)
    ledger.add(CallIdentity(3, 1, 2, "policy"), "mine", one)
    ledger.add(CallIdentity(3, 1, 2, "judge"), "theirs", one)
    ledger.add(CallIdentity(3, 0, 1, "policy"), "mine", one)
    assert ledger.settle(3, 1) == {
        ChargeKey("policy", "mine"): one + one,
        ChargeKey("judge", "theirs"): one,
    }
    assert ledger.settle(3, 1) == {}
    assert ledger.used_by(3, 0, 1, "policy") == one.usage


def test_the_policys_client_asking_another_model_is_counted_apart() -> None:
    ledger = Ledger(("mine",))
    one = Spend(TokenUsage(calls=1))
    ledger.add(CallIdentity(0, 0, 1, "policy"), "simulated-user", one)
    assert ledger.settle(0, 0) == {ChargeKey("other", "simulated-user"): one}


def test_calls_that_come_after_their_row_do_not_pile_up() -> None:
    ledger = Ledger(("mine",))
    one = Spend(TokenUsage(calls=1))
    for example in range(10_050):
        ledger.add(CallIdentity(example, 0, 1, "judge"), "mine", one)
    assert ledger.used_by(0, 0, 1, "judge") == TokenUsage()
    assert ledger.settle_apart() == {ChargeKey("judge", "mine"): Spend(TokenUsage(calls=50))}
    assert ledger.total().calls == 10_050


def test_reasoning_that_is_not_among_the_output_is_added_to_it() -> None:
    apart = UsageObject(asked=10, said=5, reasoning=50, total=65)
    within = UsageObject(asked=10, said=55, reasoning=50, total=65)
    assert apart.to_usage() == within.to_usage() == TokenUsage(1, input=10, output=55, reasoning=50)


def test_what_is_held_does_not_grow_with_the_rollouts_that_were_settled() -> None:
    ledger = Ledger(("mine",))
    one = Spend(TokenUsage(calls=1, input=5))
    for example in range(100_000):
        ledger.add(CallIdentity(example, 0, 1, "policy"), "mine", one)
        ledger.settle(example, 0)
    assert not ledger.open
    assert len(ledger.totals()) == 1
    assert ledger.total() == TokenUsage(calls=100_000, input=500_000)
