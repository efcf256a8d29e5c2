"""Runs in a real interpreter, steered over their socket while they go on."""

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from prime_cli.core.errors import Conflict, NotFound, UsageError
from prime_cli.core.progress import Silent
from prime_cli.evals.control.client import RunControl, control_of
from prime_cli.evals.control.messages import RunState
from prime_cli.evals.planning.cost import budget_of, check_cap
from prime_cli.evals.shards.merge import merge_runs
from prime_cli.models.prices import Price
from prime_cli.runs.folder import read_journal
from prime_cli.runs.manifest import load_manifest
from prime_cli.runs.plan import Deadlines
from prime_cli.runs.saved_run import open_run
from prime_cli.runtime.interpreters import Interpreter
from tests.evals.control.conftest import EIGHT, SlowModel, reins, started, until
from tests.helpers.live_run import run_live
from tests.helpers.scripted_model import ScriptedModel

pytestmark = pytest.mark.network  # the shared venv may have to be made

A_CENT_A_TOKEN = Price(input=0.0, output=10_000.0)


def test_a_paused_run_starts_no_rollout_and_calls_no_model_until_it_is_resumed(
    echo: Interpreter, model: ScriptedModel, slow: SlowModel, tmp_path: Path
) -> None:
    with started(tmp_path, echo, model.url, concurrency=2) as run:
        control = reins(tmp_path)
        until(lambda: slow.asked == 2)
        assert control.pause().state == "paused"
        until(lambda: control.status().done == 2)
        time.sleep(1.0)
        assert (slow.asked, control.status().done) == (2, 2)
        assert control.resume().state == "running"
        result = run.result(60)
    assert result.summary.counts.scored == 8
    assert [each.action for each in result.summary.changes] == ["pause", "resume"]
    assert open_run(result.folder.path).summary().changes == result.summary.changes


def test_time_in_a_pause_does_not_count_for_deadlines(
    echo: Interpreter, model: ScriptedModel, slow: SlowModel, tmp_path: Path
) -> None:
    limits = {"deadlines": Deadlines(rollout=2)}
    with started(tmp_path, echo, model.url, concurrency=2, **limits) as run:
        control = reins(tmp_path)
        control.pause()
        time.sleep(2.5)
        control.resume()
        assert run.result(60).summary.counts.errored == 0


def test_more_rollouts_run_at_a_time_once_that_is_set(
    echo: Interpreter, model: ScriptedModel, slow: SlowModel, tmp_path: Path
) -> None:
    with started(tmp_path, echo, model.url, concurrency=1) as run:
        control = reins(tmp_path)
        until(lambda: slow.asked == 1)
        assert control.set(concurrency=3).concurrency == 3
        until(lambda: slow.asked == 3)
        with pytest.raises(UsageError, match="at least 1") as refused:
            control.set(concurrency=0)
        assert "pause" in str(refused.value.hint)
        result = run.result(60)
    assert load_manifest(result.folder.manifest).plan.concurrency == 3


def test_a_cap_is_lowered_to_what_is_not_spent_yet_and_stops_the_run(
    echo: Interpreter, model: ScriptedModel, slow: SlowModel, tmp_path: Path
) -> None:
    with started(tmp_path, echo, model.url, concurrency=1, price=A_CENT_A_TOKEN) as run:
        control = reins(tmp_path)
        until(lambda: control.status().done == 2)
        with pytest.raises(UsageError, match=r"\$0\.20 is spent already"):
            control.set(max_cost=0.1)
        assert control.set(max_cost=0.3).max_cost == 0.3
        result = run.result(90)
    assert (result.summary.status, result.summary.counts.scored) == ("capped", 3)
    assert result.plan.max_cost == 0.3


def test_each_part_of_a_run_is_steered_alone_and_they_are_merged(
    echo: Interpreter, model: ScriptedModel, tmp_path: Path
) -> None:
    one, two = ({**EIGHT, "options": {"shard": f"{number}/2"}} for number in (1, 2))
    with started(tmp_path, echo, model.url, concurrency=1, price=A_CENT_A_TOKEN, **one) as capped:
        first = reins(tmp_path)
        with started(tmp_path, echo, model.url, concurrency=1, **two) as whole:
            until(lambda: reins(tmp_path).run_id != first.run_id)
            until(lambda: first.status().done == 1)
            assert control_of(first.run_id, tmp_path).set(max_cost=0.2).max_cost == 0.2
            part, other = capped.result(90), whole.result(90)
    assert (part.summary.counts.scored, other.summary.counts.scored) == (2, 4)
    budget = budget_of(load_manifest(part.folder.manifest).plan)
    assert budget is not None
    assert budget.max_cost == 0.2, "a resume has the cap that was set"
    rest = run_live(tmp_path, echo, model.url, resumed=part.folder, **one)
    words = [str(each.folder.path) for each in (rest, other)]
    merged = merge_runs(words, tmp_path, Silent())
    assert (merged.summary.status, merged.summary.counts.scored) == ("finished", 8)


def test_a_drained_run_finishes_what_runs_and_is_resumed(
    echo: Interpreter, model: ScriptedModel, slow: SlowModel, tmp_path: Path
) -> None:
    with started(tmp_path, echo, model.url, concurrency=2) as run:
        control = reins(tmp_path)
        until(lambda: slow.asked == 2)
        assert control.drain().state == "draining"
        result = run.result(60)
    assert (result.summary.status, result.summary.counts.scored) == ("interrupted", 2)
    with pytest.raises(Exception, match="Drained by") as partial:
        check_cap(result.summary, result.plan)
    assert "--resume" in str(partial.value.hint)  # type: ignore[attr-defined]
    again = run_live(tmp_path, echo, model.url, resumed=result.folder, **EIGHT)
    assert (again.summary.status, again.summary.counts.scored) == ("finished", 8)


def test_a_cancelled_rollout_is_neither_scored_nor_an_error_and_stays_so(
    echo: Interpreter, model: ScriptedModel, slow: SlowModel, tmp_path: Path
) -> None:
    with started(tmp_path, echo, model.url, concurrency=2) as run:
        control = reins(tmp_path)
        until(lambda: slow.asked == 2)
        state = control.cancel(0, 1)
        assert (state.cancelled, state.errors) == (1, 0)
        control.cancel(3)
        with pytest.raises(Conflict, match="ended already"):
            control.cancel(0, 1)
        with pytest.raises(NotFound, match="no example 9"):
            control.cancel(9)
        with pytest.raises(NotFound, match="has 2 rollouts"):
            control.retry(0, 2)
        result = run.result(60)
    counts = result.summary.counts
    assert (counts.scored, counts.errored, counts.cancelled) == (5, 0, 3)
    assert (result.summary.errors, result.summary.status) == ([], "finished")
    assert result.summary.reward.low == result.summary.reward.mean == 1.0
    assert "3 cancelled" in counts.words
    again = run_live(tmp_path, echo, model.url, resumed=result.folder, **EIGHT)
    assert again.summary.counts == counts


def test_what_was_cancelled_or_failed_is_run_again_when_somebody_asks(
    echo: Interpreter, model: ScriptedModel, slow: SlowModel, tmp_path: Path
) -> None:
    slow.fails = True
    with started(tmp_path, echo, model.url, concurrency=1, fail_fast=False) as run:
        control = reins(tmp_path)
        until(lambda: control.status().errors == 1)
        control.cancel(3, 0)
        with pytest.raises(Conflict, match="Only what was cancelled"):
            control.retry(2, 0)
        assert control.retry(0, 0).errors == 1
        control.retry(3, 0)
        result = run.result(60)
    counts = result.summary.counts
    assert (counts.scored, counts.errored, counts.cancelled) == (8, 0, 0)
    attempts = {(row.example_id, row.rollout): row for row in read_journal(result.folder.journal)}
    assert [attempts[pair].attempt for pair in ((0, 0), (3, 0), (1, 0))] == [2, 2, 1]
    assert attempts[0, 0].again == "requested"


def test_a_drained_run_that_owes_what_somebody_asked_for_again_has_not_finished(
    echo: Interpreter, model: ScriptedModel, slow: SlowModel, tmp_path: Path
) -> None:
    slow.fails = True
    plan = {**EIGHT, "num_examples": 1, "concurrency": 1, "fail_fast": False}
    with started(tmp_path, echo, model.url, **plan) as run:
        control = reins(tmp_path)
        until(lambda: control.status().errors == 1 and slow.asked == 2)
        control.retry(0, 0)
        control.drain()
        result = run.result(60)
    counts = result.summary.counts
    assert (result.summary.status, counts.scored, counts.errored) == ("interrupted", 1, 1)
    again = run_live(tmp_path, echo, model.url, resumed=result.folder, **plan)
    assert (again.summary.status, again.summary.counts.scored) == ("finished", 2)


def test_two_people_at_once_see_the_state_after_both(
    echo: Interpreter, model: ScriptedModel, slow: SlowModel, tmp_path: Path
) -> None:
    with started(tmp_path, echo, model.url, concurrency=1) as run:
        control = reins(tmp_path)
        with ThreadPoolExecutor(8) as people:
            states: list[RunState] = list(people.map(control.set, range(2, 10)))
        assert sorted(state.concurrency for state in states) == list(range(2, 10))
        recorded = load_manifest(Path(control.status().path) / "run.json").changes
        assert control.status().concurrency == recorded[-1].concurrency
        run.result(60)
    with pytest.raises(Conflict, match="does not run: it is finished"):
        RunControl(open_run(run.result().folder.path)).pause()
