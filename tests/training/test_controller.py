"""Trainings that are steered over their socket while they go on."""

import os
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from prime_cli.core.errors import Conflict, PrimeError, UsageError
from prime_cli.evals.control.client import RunControl, control_of
from prime_cli.evals.control.messages import RunState
from prime_cli.models.prices import Budget
from prime_cli.runs.folder import read_journal
from prime_cli.runs.listing import find_run
from prime_cli.runs.manifest import FINISHED, INTERRUPTED, load_manifest
from prime_cli.runs.saved_run import open_run
from prime_cli.runtime.interpreters import Interpreter
from prime_cli.training.record import count_failed, last_checkpoint
from prime_cli.web.application import create_application
from prime_cli.web.library import Library
from tests.evals.control.conftest import until
from tests.helpers.environments import small_interpreter
from tests.helpers.training import TRAINED, Trained, train_scripted

SLOW = TRAINED.replace(
    "    def same(completion, answer, **kwargs):\n",
    """    async def same(completion, answer, **kwargs):
        import asyncio
        await asyncio.sleep(0.4)
""",
)
"""The same environment, whose rollouts take a while."""


@pytest.fixture(scope="module")
def slow(tmp_path_factory: pytest.TempPathFactory) -> Interpreter:
    return small_interpreter(tmp_path_factory.mktemp("slow"), SLOW)


@contextmanager
def started(
    folder: Path, interpreter: Interpreter, **plan: Any
) -> Iterator[tuple[RunControl, Future[Trained]]]:
    """A training whose first rollouts run, and its control."""

    def control() -> RunControl | None:
        try:
            (found,) = (each for each in folder.iterdir() if (each / "run.json").is_file())
            control = RunControl(open_run(found))
            return control if control.status().running else None
        except (PrimeError, ValueError):
            return None

    with ThreadPoolExecutor(1) as pool:
        training = pool.submit(train_scripted, interpreter, folder, **plan)
        found = until(control)
        assert isinstance(found, RunControl)
        with going_on(found):
            yield found, training


@contextmanager
def going_on(control: RunControl) -> Iterator[None]:
    """No pause outlasts a failure, whose test would wait for it."""
    try:
        yield
    finally:
        with suppress(PrimeError):
            control.resume()


def ended(state: RunState) -> int:
    return state.done + state.errors + state.cancelled


def settled(control: RunControl) -> RunState:
    """Its state once what had been called before a pause is counted."""
    known = control.status()
    while True:
        time.sleep(1.0)
        now = control.status()
        if ended(now) == ended(known):
            return now
        known = now


def test_a_paused_training_makes_no_rollout_and_is_not_taken_for_a_stalled_one(
    tmp_path: Path, slow: Interpreter
) -> None:
    with started(tmp_path, slow, steps=3, stall=2) as (control, training):
        assert control.pause().state == "paused"
        until(lambda: not control.status().running)
        before = settled(control)
        time.sleep(3.5)
        after = control.status()
        assert (ended(after), after.state) == (ended(before), "paused")
        assert after.note == f"paused by {load_manifest(training_file(tmp_path)).changes[0].by}"
        assert control.resume().state == "running"
        trained = training.result(60)
    manifest = load_manifest(trained.folder / "run.json")
    assert manifest.status == FINISHED
    assert [each.action for each in manifest.changes] == ["pause", "resume"]
    assert trained.result.facts.step == 3


def training_file(folder: Path) -> Path:
    (found,) = folder.glob("*/run.json")
    return found


def test_a_drained_training_ends_after_its_step_and_checkpoint_and_goes_on_from_there(
    tmp_path: Path, slow: Interpreter
) -> None:
    with started(tmp_path, slow, steps=5, save_every=5) as (control, training):
        state = control.drain()
        assert (state.state, state.steps) == ("draining", 5)
        with pytest.raises(Conflict, match="draining"):
            control.pause()
        trained = training.result(60)
    result, folder = trained.result, trained.result.folder
    assert result.drained is not None
    assert result.drained.startswith("Drained by ")
    assert not result.is_finished
    assert load_manifest(folder.manifest).status == INTERRUPTED
    assert (found := last_checkpoint(folder)) is not None
    assert found[0] == result.facts.step < 5
    with pytest.raises(Conflict, match="is interrupted") as over:
        control.status()
    assert "prime train --resume" in str(over.value.hint)
    again = train_scripted(slow, tmp_path, resumed=folder, steps=5, save_every=5)
    assert (again.result.facts.step, again.result.drained) == (5, None)


def test_a_drain_ends_a_pause(tmp_path: Path, slow: Interpreter) -> None:
    with started(tmp_path, slow, steps=5) as (control, training):
        control.pause()
        assert control.drain().state == "draining"
        assert training.result(60).result.drained is not None


def test_a_cancelled_rollout_is_no_error_and_the_step_goes_on_without_it(
    tmp_path: Path, slow: Interpreter
) -> None:
    with started(tmp_path, slow, steps=2, batch=2, group=4) as (control, training):
        control.pause()
        state = control.cancel(1, 0)
        assert (state.cancelled, state.errors) == (1, 0)
        with pytest.raises(Conflict, match="No rollout 1:0 is running"):
            control.cancel(1, 0)
        assert control.cancel(1).cancelled == 4
        control.resume()
        trained = training.result(60)
    rows = list(read_journal(trained.folder / "journal.jsonl"))
    cancelled = [row for row in rows if row.error is not None]
    assert sorted((row.example_id, row.rollout) for row in cancelled) == [(1, n) for n in range(4)]
    assert {row.error.kind for row in cancelled if row.error} == {"cancelled"}
    assert len(rows) == 2 * 2 * 4
    assert (trained.folder / "metrics.jsonl").read_text(encoding="utf-8").count('"errors":0') == 2
    assert count_failed(trained.result.folder, ()).failed == 0
    changes = load_manifest(trained.folder / "run.json").changes
    assert [each.words for each in changes][1] == "cancel 1:0"


def test_concurrency_is_set_and_what_makes_no_sense_is_refused_in_a_sentence(
    tmp_path: Path, slow: Interpreter
) -> None:
    with started(tmp_path, slow, steps=3) as (control, training):
        assert control.set(concurrency=1).concurrency == 1
        with pytest.raises(UsageError, match="at least 1"):
            control.set(concurrency=0)
        with pytest.raises(UsageError, match="Nothing to set"):
            control.set()
        with pytest.raises(Conflict, match="costs nothing") as refused:
            control.set(max_cost=5)
        assert "--max-cost 5" in str(refused.value.hint)
        with pytest.raises(Conflict, match="runs no rollout again"):
            control.retry(1)
        assert control.set(concurrency=8).concurrency == 8
        trained = training.result(90)
    assert load_manifest(trained.folder / "run.json").plan.concurrency == 8


def test_a_cap_is_changed_where_there_is_one(tmp_path: Path, slow: Interpreter) -> None:
    with started(tmp_path, slow, steps=1, budget=Budget(3.0)) as (control, training):
        assert control.set(max_cost=2).max_cost == 2
        with pytest.raises(UsageError, match="spent already"):
            control.set(max_cost=0)
        training.result(60)


def test_all_environments_are_held_and_one_of_their_examples_is_cancelled(
    tmp_path: Path, slow: Interpreter
) -> None:
    with started(tmp_path, slow, others=(slow,), steps=3, batch=4) as (control, training):
        control.pause()
        owed = until(lambda: control.status().running)
        with pytest.raises(Conflict, match="No rollout 23 is running"):
            control.cancel(23)
        assert control.status().running == owed
        assert control.set(concurrency=6).concurrency == 6
        control.resume()
        trained = training.result(90)
    plans = [load_manifest(path).plan for path in trained.folder.rglob("run.json")]
    assert [plan.concurrency for plan in plans] == [6, 6]


def test_an_evaluation_on_held_out_examples_is_held_too(tmp_path: Path, slow: Interpreter) -> None:
    def evaluated() -> int:
        return sum(path.stat().st_size for path in tmp_path.glob("*/evals/*/*/journal.jsonl"))

    plan: dict[str, Any] = {"steps": 1, "eval_examples": 12, "eval_rollouts": 8}
    with ThreadPoolExecutor(1) as pool:
        training = pool.submit(train_scripted, slow, tmp_path, **plan)
        until(evaluated)
        control = RunControl(open_run(training_file(tmp_path).parent))
        with going_on(control):
            control.pause()
            time.sleep(1.5)
            before = evaluated()
            time.sleep(1.5)
            assert evaluated() == before
            control.resume()
            assert training.result(60).result.is_whole


def test_a_training_is_found_by_its_id_or_as_the_only_one_that_is_running(
    tmp_path: Path, slow: Interpreter
) -> None:
    folder = tmp_path / "outputs" / "train" / "tiny"
    folder.mkdir(parents=True)
    with started(folder, slow, steps=2) as (control, training):
        run_id = control.status().run_id
        for wanted in (None, run_id, os.path.relpath(training_file(folder).parent, tmp_path)):
            assert control_of(wanted, tmp_path).status().run_id == run_id
        app = create_application(Library(tmp_path), Starlette())
        with TestClient(app, base_url="http://127.0.0.1:8800") as client:
            page = client.get(f"/trainings/{run_id}").text
            assert "Pause</button>" in page
            assert 'name="max_cost"' not in page  # it has no cap
            form = {"form_token": app.state.form_token, "action": "pause"}
            assert "Resume</button>" in client.post(f"/trainings/{run_id}", data=form).text
        assert control.resume().state == "running"
        training.result(60)
    assert find_run(run_id, tmp_path).status == FINISHED
