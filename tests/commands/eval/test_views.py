"""How a person reads what a run used."""

from typing import Any

from prime_cli.commands.eval.summary import summary_lines
from prime_cli.models.prices import ChargeKey, Charges, Price, Spend, TokenUsage
from prime_cli.runs.plan import Labels, Revision
from prime_cli.runs.spending import ServedModel, Spending
from prime_cli.runs.summary import Counts, EnvironmentFacts, Reward, Summary

PRICE = Price(input=1.0, output=10.0)
ONE = Spend.of(TokenUsage(calls=2, input=10**5, output=10**4, reasoning=9000), PRICE)
UNKNOWN = Spend.of(TokenUsage(calls=1, input=10), None)


def told(charges: Charges | None = None, **more: Any) -> dict[str, str]:
    scores: dict[str, Any] = {
        "counts": Counts(1, 1, 0, 0),
        "reward": Reward(1.0, 0.0, 1.0, 1.0),
    } | more
    summary = Summary(
        run_id="1f2e3d4c",
        path="/somewhere",
        environment=EnvironmentFacts("wordle"),
        model="m",
        metrics={},
        usage=Spending("m", charges or {}).record(),
        seconds=1.0,
        **scores,
    )
    return dict(summary_lines(summary))


def test_tokens_and_cost_are_reported() -> None:
    lines = told({ChargeKey("policy", "m"): ONE})
    assert lines["Tokens"] == "2 calls, 100,000 input, 10,000 output, 9,000 reasoning"
    assert lines["Cost"] == "$0.20"


def test_judges_and_models_are_distinguished_and_an_unknown_part_makes_the_sum_a_floor() -> None:
    lines = told({ChargeKey("policy", "m"): ONE, ChargeKey("judge", "big"): UNKNOWN})
    assert lines["Cost"] == "at least $0.20"
    assert lines["  judge"] == lines["  big"] == "1 call, 10 input; cost unknown"
    assert lines["  m"].endswith("; $0.20")


def test_an_unknown_cost_is_not_zero() -> None:
    assert told({ChargeKey("policy", "m"): UNKNOWN})["Cost"] == "unknown"


def test_the_model_that_answered_and_the_runs_names_are_reported() -> None:
    labels = Labels(tags=("a", "b"), note="first try", revision=Revision("c" * 40, dirty=True))
    lines = told(served=(ServedModel(requested="m", model="m-2026", calls=3),), labels=labels)
    assert lines["  answered by"] == "m-2026 in 3 calls"
    assert (lines["Tags"], lines["Note"]) == ("a, b", "first try")
    assert lines["Commit"] == "cccccccccccc, with changes"
    assert not {"  answered by", "Tags", "Note", "Commit"} & told().keys()


def test_a_run_without_a_score_says_so_in_words() -> None:
    nothing: dict[str, Any] = {"counts": Counts(1, 0, 1, 0), "reward": Reward(None, None, 0.0, 0.0)}
    assert told(**nothing)["Reward"] == "nothing was scored: every rollout errored"
    before: dict[str, Any] = {
        "counts": Counts(1, 0, 0, 0),
        "reward": Reward(None, None, None, None),
    }
    assert told(**before)["Reward"] == "nothing was scored: no rollout has ended"
