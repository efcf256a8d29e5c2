"""Whole runs with a price and a cap, in a real interpreter."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from prime_cli.core.errors import PartialResult
from prime_cli.evals.execution.earlier_sessions import read_earlier_sessions
from prime_cli.evals.execution.run import EvalResult
from prime_cli.evals.planning.cost import check_cap
from prime_cli.models.prices import Budget, Price
from prime_cli.runs.folder import RunFolder, read_journal
from prime_cli.runs.manifest import load_manifest
from prime_cli.runs.spending import Spending, read_charges, spend_of, sum_of
from prime_cli.runtime.interpreters import Interpreter
from tests.helpers.environments import ECHO, interpreter_with, small_interpreter
from tests.helpers.live_run import run_live
from tests.helpers.scripted_model import Received, Reply, ScriptedModel, status

pytestmark = pytest.mark.network  # the shared venv may have to be made

A_CENT_A_TOKEN = Price(input=0.0, output=10_000.0)
USED = {"prompt_tokens": 5, "completion_tokens": 10, "total_tokens": 15}

JUDGED = (
    ECHO.replace(
        'return float(completion[-1]["content"] == answer)',
        'return await judge(completion[-1]["content"] == answer)',
    )
    .replace("def same", "async def same")
    .replace(
        "import verifiers as vf",
        """import verifiers as vf
from openai import AsyncOpenAI
async def judge(right):
    messages = [{"role": "user", "content": "right?"}]
    answer = await AsyncOpenAI().chat.completions.create(model="scripted", messages=messages)
    return float(bool(answer.choices[0].message.content) and right)
""",
    )
)

GROUPED = ECHO.replace(
    "def same(completion, answer, **kwargs):\n"
    '        return float(completion[-1]["content"] == answer)',
    "def same(completions, answers, **kwargs):\n"
    '        return [float(c[-1]["content"] == a) for c, a in zip(completions, answers)]',
)


@pytest.fixture(scope="module")
def echo(tmp_path_factory: pytest.TempPathFactory) -> Interpreter:
    return small_interpreter(tmp_path_factory.mktemp("echo"), ECHO)


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Interpreter:
    return interpreter_with(tmp_path_factory.mktemp("judged"), JUDGED)


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    with ScriptedModel(lambda request: Reply(request.last_user, usage=USED)) as scripted:
        yield scripted


def written(folder: RunFolder) -> Spending:
    """The sum of all lines of the journal and of what is in none."""
    manifest = load_manifest(folder.manifest)
    spending = Spending(manifest.plan.model, read_charges(manifest.unjournaled))
    for row in read_journal(folder.journal):
        spending.add_row(row)
    return spending


def assert_adds_up(result: EvalResult, model: ScriptedModel) -> None:
    """The journal, run.json and the endpoint agree on what was used."""
    total = spend_of(load_manifest(result.folder.manifest).usage)
    assert written(result.folder).total == total
    assert total.usage.calls == len(model.calls)
    assert total.usage.output == 10 * len(model.calls)


def test_a_rollout_and_its_run_have_a_cost_and_keep_the_price(
    echo: Interpreter, model: ScriptedModel, tmp_path: Path
) -> None:
    result = run_live(tmp_path, echo, model.url, price=A_CENT_A_TOKEN)
    rows = list(read_journal(result.folder.journal))
    assert [row.cost for row in rows] == [0.1] * 4
    assert (result.summary.usage["cost"], result.summary.usage["output"]) == (0.4, 40)
    prices = load_manifest(result.folder.manifest).prices
    assert prices is not None
    assert [(price.model, price.output) for price in prices.used] == [("scripted", 10_000.0)]
    assert prices.date
    assert_adds_up(result, model)


def test_a_model_on_this_machine_has_no_known_cost_and_not_zero(
    echo: Interpreter, model: ScriptedModel, tmp_path: Path
) -> None:
    result = run_live(tmp_path, echo, model.url)
    assert [row.cost for row in read_journal(result.folder.journal)] == [None] * 4
    assert result.summary.usage["cost"] is None
    assert result.summary.usage["known_cost"] == 0


def test_the_oracle_costs_nothing(echo: Interpreter, tmp_path: Path) -> None:
    result = run_live(tmp_path, echo, "", max_cost=0.01)
    assert result.summary.status == "finished"
    assert result.summary.usage["cost"] == 0
    assert [row.cost for row in read_journal(result.folder.journal)] == [0.0] * 4


def test_a_judges_tokens_are_apart_and_in_the_cost_of_the_rollout(
    judged: Interpreter, model: ScriptedModel, tmp_path: Path
) -> None:
    result = run_live(tmp_path, judged, model.url, price=A_CENT_A_TOKEN)
    for row in read_journal(result.folder.journal):
        assert row.reward == 1.0
        assert row.usage is not None
        assert row.usage["calls"] == 1
        assert row.judges["judge"]["scripted"]["output"] == 10
        assert row.cost == 0.2
    assert result.summary.usage["roles"]["judge"]["cost"] == 0.4
    assert_adds_up(result, model)


@pytest.mark.parametrize("concurrency", [1, 8])
def test_a_capped_run_keeps_what_it_paid_for_and_a_resume_with_more_does_the_rest(
    echo: Interpreter, model: ScriptedModel, tmp_path: Path, concurrency: int
) -> None:
    plan: dict[str, Any] = {
        "num_examples": 10,
        "concurrency": concurrency,
        "price": A_CENT_A_TOKEN,
    }
    result = run_live(tmp_path, echo, model.url, max_cost=0.55, **plan)
    summary = result.summary
    assert summary.status == "capped"
    assert "The cap of $0.55 is reached" in (summary.failure or "")
    assert summary.counts.errored == 0
    assert 6 <= summary.counts.scored == len(model.calls) <= 5 + concurrency
    with pytest.raises(PartialResult) as raised:
        check_cap(summary, result.plan)
    assert f"--resume {summary.run_id} --max-cost 1.1" in (raised.value.hint or "")
    assert_adds_up(result, model)

    before = len(model.calls)
    with pytest.raises(PartialResult, match="is reached"):
        run_live(tmp_path, echo, model.url, max_cost=0.55, resumed=result.folder, **plan)
    assert len(model.calls) == before
    assert load_manifest(result.folder.manifest).status == "capped"

    result = run_live(tmp_path, echo, model.url, max_cost=50.0, resumed=result.folder, **plan)
    assert result.summary.status == "finished"
    assert (result.summary.counts.scored, result.summary.counts.errored) == (20, 0)
    assert len(model.calls) == 20
    assert result.summary.usage["cost"] == 2.0
    assert_adds_up(result, model)


@pytest.mark.parametrize("source", [JUDGED, GROUPED], ids=["judged", "grouped"])
def test_a_rollout_stopped_by_the_cap_is_neither_a_score_nor_an_error(
    source: str, model: ScriptedModel, tmp_path: Path
) -> None:
    # A judge has a client of the real openai.
    make = interpreter_with if source == JUDGED else small_interpreter
    interpreter = make(tmp_path, source)
    plan: dict[str, Any] = {"num_examples": 6, "rollouts_per_example": 3, "concurrency": 4}
    result = run_live(tmp_path, interpreter, model.url, price=A_CENT_A_TOKEN, max_cost=0.75, **plan)
    assert result.summary.status == "capped"
    assert result.summary.counts.errored == 0
    assert result.summary.reward.mean in (1.0, None)
    assert_adds_up(result, model)
    if source == GROUPED:
        assert result.summary.counts.scored % 3 == 0


def test_a_cap_that_the_last_call_reaches_stops_nothing(
    echo: Interpreter, model: ScriptedModel, tmp_path: Path
) -> None:
    result = run_live(tmp_path, echo, model.url, token_budget=60)
    assert (result.summary.status, result.summary.counts.scored) == ("finished", 4)


def test_new_attempts_and_useless_answers_are_spend_too(
    echo: Interpreter, model: ScriptedModel, tmp_path: Path
) -> None:
    seen: list[str] = []

    def flaky(request: Received) -> Reply:
        seen.append(request.last_user)
        if seen.count(request.last_user) == 1:
            return Reply(
                None, usage=USED, raw=b'{"choices": [], "usage": {"completion_tokens": 10}}'
            )
        if seen.count(request.last_user) == 2:
            return status(500)
        return Reply(request.last_user, usage=USED)

    model.answer = flaky
    result = run_live(
        tmp_path, echo, model.url, price=A_CENT_A_TOKEN, rollouts_per_example=1, max_retries=3
    )
    assert result.summary.reward.mean == 1.0
    assert [row.cost for row in read_journal(result.folder.journal)] == [0.2, 0.2]
    assert written(result.folder).total == spend_of(result.summary.usage)


def test_after_a_kill_the_journal_shows_what_was_spent(
    judged: Interpreter, model: ScriptedModel, tmp_path: Path
) -> None:
    result = run_live(tmp_path, judged, model.url, price=A_CENT_A_TOKEN)
    manifest = result.folder.manifest
    manifest.write_text(manifest.read_text().replace('"finished"', '"running"'))
    earlier = read_earlier_sessions(result.folder)
    assert sum_of(earlier.spent.values()) == spend_of(result.summary.usage)


def test_a_budget_is_used_up_after_a_run_that_shared_it_is_over(
    echo: Interpreter, model: ScriptedModel, tmp_path: Path
) -> None:
    budget = Budget(max_cost=0.65)
    shared: dict[str, Any] = {"price": A_CENT_A_TOKEN, "budget": budget, "concurrency": 1}
    first = run_live(tmp_path / "first", echo, model.url, **shared)
    second = run_live(tmp_path / "second", echo, model.url, **shared)
    assert first.summary.status == "finished"
    assert second.summary.status == "capped"
    assert (second.summary.counts.scored, second.summary.counts.errored) == (3, 0)
    assert len(model.calls) == 7


def test_a_budget_that_others_have_used_up_lets_nothing_begin(
    echo: Interpreter, model: ScriptedModel, tmp_path: Path
) -> None:
    budget = Budget(max_cost=1.0)
    budget.stop("The cap of $1.00 is reached")
    result = run_live(tmp_path, echo, model.url, price=A_CENT_A_TOKEN, budget=budget)
    assert (result.summary.status, model.calls) == ("capped", [])
    result = run_live(
        tmp_path, echo, model.url, price=A_CENT_A_TOKEN, resumed=result.folder, budget=None
    )
    assert (result.summary.status, result.summary.counts.scored) == ("finished", 4)


@pytest.mark.slow
def test_a_run_of_a_v1_taskset_is_counted_capped_and_resumed_in_the_same_way(
    tmp_path: Path,
) -> None:
    tasks = Path(__file__).parents[2] / "runtime/worker/environments/judged_tasks.py"
    source = tasks.read_text("utf-8").replace('model="judge"', 'model="scripted"')
    made = interpreter_with(tmp_path, source, verifiers="0.4.0")
    interpreter = replace(made, generation="v1")
    plan: dict[str, Any] = {"price": A_CENT_A_TOKEN, "rollouts_per_example": 4, "concurrency": 1}
    with ScriptedModel(lambda _: Reply("1", usage=USED)) as model:
        result = run_live(tmp_path, interpreter, model.url, max_cost=0.55, **plan)
        assert (result.summary.status, result.summary.counts.errored) == ("capped", 0)
        assert result.summary.counts.scored == 3
        assert_adds_up(result, model)
        result = run_live(
            tmp_path, interpreter, model.url, max_cost=9.0, resumed=result.folder, **plan
        )
        assert (result.summary.status, result.summary.counts.scored) == ("finished", 8)
        assert result.summary.usage["cost"] == 1.6
        assert result.summary.usage["roles"]["judge"]["calls"] == 8
        assert_adds_up(result, model)
