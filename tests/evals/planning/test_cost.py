"""What a run will cost is told from earlier runs, from a limit, or not at all."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from prime_cli.core.errors import PartialResult, UsageError
from prime_cli.core.progress import Silent
from prime_cli.evals.planning.cost import (
    Estimate,
    budget_of,
    estimate,
    free_at_home,
    partial_at_cap,
    require_prices,
    require_room,
)
from prime_cli.models.endpoints import Endpoint
from prime_cli.models.price_book import PriceBook, PriceTable, shipped_table
from prime_cli.models.prices import Budget, ChargeKey, Price, Spend, TokenUsage
from prime_cli.runs.folder import RunFolder
from prime_cli.runs.plan import EvalPlan
from prime_cli.runs.spending import Spending
from prime_cli.runs.summary import Counts
from tests.runs.saving import PLAN, save_run

PRICE = Price(input=1.0, output=10.0)
"""A microdollar for each token read, ten for each that is written."""


def earlier(cwd: Path, *, model: str = "org/model", when: int = 1, **more: Any) -> RunFolder:
    """A run of 4 rollouts, 2 calls, 1000 tokens read and 100 written each."""
    used = TokenUsage(calls=8, input=4000, output=400, estimated=more.pop("estimated", 0))
    spending = Spending(model, {ChargeKey("policy", model): Spend.of(used, PRICE)})
    spending.add(more.pop("judges", {}))
    plan = msgspec.structs.replace(PLAN, model=model, **more.pop("plan", {}))
    return save_run(
        cwd,
        plan=plan,
        counts=Counts(4, 3, 1, 0),
        usage=spending.record(),
        started=f"2026-01-02T03:04:0{when}+00:00",
        **more,
    )


def wanted(**changes: Any) -> EvalPlan:
    return msgspec.structs.replace(PLAN, **changes)


def test_as_many_rollouts_of_an_earlier_run_would_cost_that_much(tmp_path: Path) -> None:
    run = earlier(tmp_path)
    found = estimate(wanted(num_examples=10, rollouts_per_example=2), PRICE, tmp_path)
    assert found.cost == pytest.approx(20 * 2000e-6)
    assert found.words() == f"about $0.040 for 20 rollouts, as run {run.run_id} used"


def test_what_need_not_run_again_costs_nothing(tmp_path: Path) -> None:
    earlier(tmp_path)
    found = estimate(wanted(num_examples=10), PRICE, tmp_path, done=19)
    assert found.cost == pytest.approx(2000e-6)
    assert "for 1 rollout," in found.words()


def test_a_limit_of_tokens_bounds_every_call_that_an_earlier_run_made(tmp_path: Path) -> None:
    earlier(tmp_path)
    plan = wanted(num_examples=2, sampling={"max_tokens": 1000})
    found = estimate(plan, PRICE, tmp_path)
    assert found.limit == pytest.approx(4 * (1000e-6 + 2 * 1000 * 10e-6))
    assert found.words().endswith("at most $0.084 at 1,000 tokens a completion")


def test_the_newest_run_of_the_same_model_is_taken_before_a_newer_one(tmp_path: Path) -> None:
    mine = earlier(tmp_path, when=1)
    other = earlier(tmp_path, model="other/model", when=2)
    assert estimate(wanted(), PRICE, tmp_path).like == mine.run_id
    guess = estimate(wanted(model="third/model"), PRICE, tmp_path)
    assert guess.like == other.run_id
    assert guess.words().endswith(f"as run {other.run_id} used with another model, `other/model`")
    same = estimate(wanted(model="other/model"), PRICE, tmp_path)
    assert same.words().endswith(f"as run {other.run_id} used")


def test_runs_that_counted_words_or_had_other_arguments_are_not_gone_by(tmp_path: Path) -> None:
    earlier(tmp_path, estimated=8)
    earlier(tmp_path, plan={"env_args": {"hard": True}})
    assert estimate(wanted(), PRICE, tmp_path).cost is None


def test_judges_count_with_what_they_cost_and_an_unknown_one_makes_it_a_floor(
    tmp_path: Path,
) -> None:
    judge = ChargeKey("judge", "big")
    earlier(tmp_path, judges={judge: Spend.of(TokenUsage(1, output=400), PRICE)})
    found = estimate(wanted(), PRICE, tmp_path)
    assert found.cost == pytest.approx(4 * (2000e-6 + 1000e-6))
    earlier(tmp_path, judges={judge: Spend.of(TokenUsage(1, output=400), None)}, when=2)
    assert estimate(wanted(), PRICE, tmp_path).words().startswith("at least $0.0080 for 4")


def test_all_examples_are_as_many_as_an_earlier_run_found(tmp_path: Path) -> None:
    everything = wanted(num_examples=-1)
    assert estimate(everything, PRICE, tmp_path).words() == "unknown before the examples are loaded"
    earlier(tmp_path, plan={"num_examples": -1}, examples=50)
    assert estimate(everything, PRICE, tmp_path).rollouts == 100


def test_without_an_earlier_run_a_limit_says_what_completions_cost_at_most(tmp_path: Path) -> None:
    found = estimate(wanted(sampling={"max_tokens": 500}), PRICE, tmp_path)
    assert found.words() == (
        "unknown before a first run; 4 rollouts of one completion write at most $0.020"
    )


def test_with_nothing_to_go_by_it_is_unknown(tmp_path: Path) -> None:
    found = estimate(wanted(), PRICE, tmp_path)
    assert found == Estimate(rollouts=4)
    assert found.words() == "unknown before a first run"


BOOK = PriceBook(shipped_table(), PriceTable("none"))
MINI = Endpoint("gpt-4.1-mini", "https://api.openai.com/v1")
LOCAL = Endpoint("qwen", "http://127.0.0.1:8000/v1")


def test_without_a_cap_there_is_no_budget() -> None:
    assert budget_of(wanted()) is None
    budget = budget_of(wanted(max_cost=2.0, token_budget=5))
    assert budget is not None
    assert (budget.max_cost, budget.token_budget) == (2.0, 5)


def test_a_cap_in_usd_needs_the_price_of_every_endpoint_of_a_group() -> None:
    require_prices(None, LOCAL, BOOK)
    require_prices(1.0, MINI, BOOK)
    require_prices(1.0, Endpoint("builtin/oracle", builtin=True), BOOK)
    group = Endpoint(MINI.model, MINI.url, others=(LOCAL,))
    for endpoint in (LOCAL, group):
        with pytest.raises(UsageError, match=r"`qwen` at .* has no known price"):
            require_prices(1.0, endpoint, BOOK)


def test_what_earlier_sessions_spent_may_leave_no_room() -> None:
    spent = Spend.of(TokenUsage(1, output=10**6), Price(0, 1.0))
    require_room(Budget(max_cost=1.5), spent, "1f2e3d4c", wanted(max_cost=1.5), Silent())
    with pytest.raises(PartialResult, match="is reached") as raised:
        require_room(Budget(max_cost=1.0), spent, "1f2e3d4c", wanted(max_cost=1.0), Silent())
    assert "--resume 1f2e3d4c --max-cost 2" in (raised.value.hint or "")


def test_earlier_calls_without_a_price_do_not_count_with_a_message() -> None:
    progress = Silent()
    unknown = Spend.of(TokenUsage(3, output=10), None)
    require_room(Budget(max_cost=1.0), unknown, "1f2e3d4c", wanted(max_cost=1.0), progress)
    assert progress.warned == [
        "3 calls of earlier sessions have no known cost, so the cap does not count them"
    ]


@pytest.mark.parametrize(
    ("reason", "flag"),
    [
        ("The token budget of 100 is used up", " --token-budget 200"),
        ("The cap of $1.00 is reached", " --max-cost 2"),
        ("`big` at judges.example has no known price", ""),
    ],
)
def test_the_hint_raises_the_cap_that_was_reached(reason: str, flag: str) -> None:
    plan = wanted(max_cost=1.0, token_budget=100)
    hint = partial_at_cap(reason, "1f2e3d4c", plan).hint
    assert hint == f"continue with `prime eval run --resume 1f2e3d4c{flag}`"


def test_weights_that_this_machine_serves_may_be_taken_for_free_and_no_others() -> None:
    require_prices(1.0, free_at_home(LOCAL, BOOK), BOOK)
    priced = replace(LOCAL, price=Price(1.0, 2.0))
    assert free_at_home(priced, BOOK) == priced
    assert free_at_home(MINI, BOOK) == MINI
