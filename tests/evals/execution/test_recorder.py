"""A rollout's row holds what it used, and the note beside the bar what the run did."""

from prime_cli.evals.execution.recorder import progress_note, row_of
from prime_cli.models.prices import ChargeKey, Charges, Price, Spend, Usage
from prime_cli.runs.tally import Tally
from prime_cli.runtime.protocol import Rollout
from prime_cli.runtime.protocol import Usage as Told
from tests.runs.rows import row

PRICE = Price(input=1.0, output=10.0)
POLICY = ChargeKey("policy", "m")
JUDGE = ChargeKey("judge", "big")
ONE = Spend.of(Usage(calls=1, input=10**5, output=10**4), PRICE)
UNKNOWN = Spend.of(Usage(calls=1, input=10), None)


def finished(**more: object) -> Rollout:
    return Rollout(example_id=0, rollout=0, reward=1.0, **more)  # type: ignore[arg-type]


def test_the_policys_usage_is_apart_from_its_judges_and_the_cost_is_of_both() -> None:
    charges: Charges = {POLICY: ONE, JUDGE: ONE}
    written = row_of(finished(), charges)
    assert written.usage == {"calls": 1, "input": 10**5, "output": 10**4, "cost": 0.2}
    assert written.judges == {"judge": {"big": written.usage}}
    assert written.cost == 0.4
    assert written.apart == {}


def test_a_judge_without_a_price_makes_the_cost_unknown_and_keeps_the_policys() -> None:
    written = row_of(finished(), {POLICY: ONE, JUDGE: UNKNOWN})
    assert written.cost is None
    assert written.usage is not None
    assert written.usage["cost"] == 0.2
    assert written.judges["judge"]["big"]["cost"] is None


def test_a_rollout_without_calls_costs_nothing_and_one_whose_calls_went_past_is_unknown() -> None:
    assert row_of(finished(), {}).cost == 0
    past = row_of(finished(usage=Told(input=5, output=7)), {})
    assert past.cost is None
    assert past.usage == {"input": 5, "output": 7}


def test_the_note_shows_a_cost_that_is_known() -> None:
    tally = Tally()
    tally.add(row(0))
    assert progress_note(tally) == "reward 1.000"
    assert progress_note(tally, ONE) == "reward 1.000, $0.20"
    assert progress_note(tally, ONE + UNKNOWN) == "reward 1.000, at least $0.20"
    assert progress_note(tally, UNKNOWN) == "reward 1.000"
