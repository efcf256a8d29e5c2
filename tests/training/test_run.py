"""Trainings by an engine without weights, over the real service, gateway and worker."""

import gc
import json
import os
import signal
import sys
import threading
import time
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from prime_cli.core.errors import (
    Conflict,
    EngineFailed,
    GateFailed,
    PartialResult,
    StorageFailed,
    UsageError,
)
from prime_cli.evals.execution.early_stop import SignalRouter
from prime_cli.models.prices import Budget, Price
from prime_cli.models.providers import KeySource
from prime_cli.models.registry import Registry, RegistryEntry
from prime_cli.runs.folder import RunFolder, read_journal, writing
from prime_cli.runs.manifest import CAPPED, FAILED, FINISHED, INTERRUPTED, load_manifest
from prime_cli.runs.rows import Row
from prime_cli.runs.vf_eval_reader import ROW_KEYS
from prime_cli.runtime.interpreters import Interpreter
from prime_cli.training.record import facts_in, last_checkpoint, typed_name
from prime_cli.training.trainer_events import NAMES
from tests.helpers.environments import small_interpreter
from tests.helpers.scripted_model import Reply, ScriptedModel
from tests.helpers.training import JUDGED, TRAINED, train_scripted


@pytest.fixture(scope="module")
def talker(tmp_path_factory: pytest.TempPathFactory) -> Interpreter:
    return small_interpreter(tmp_path_factory.mktemp("talker"), TRAINED)


def _steps(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_bytes().splitlines()]


def _only(folder: Path) -> RunFolder:
    (path,) = (each for each in folder.iterdir() if (each / "run.json").is_file())
    return RunFolder(path)


def test_a_training_leaves_its_steps_rollouts_checkpoints_and_verdict(
    talker: Interpreter, tmp_path: Path
) -> None:
    trained = train_scripted(talker, tmp_path, eval_examples=10)
    facts = trained.result.facts
    assert [line["step"] for line in _steps(trained.folder)] == [1, 2, 3, 4, 5, 6]
    assert _steps(trained.folder)[-1]["rollouts"] == 8
    rows = list(read_journal(trained.folder / "journal.jsonl"))
    assert sorted({row.state["step"] for row in rows}) == [1, 2, 3, 4, 5, 6]
    # What is held out is not trained on.
    assert max(row.example_id for row in rows) < 14
    assert [each.step for each in facts.evaluations] == [0, 6]
    assert facts.verdict is not None
    assert (facts.verdict.before, facts.verdict.after, facts.verdict.verdict) == (0, 1, "higher")
    manifest = load_manifest(trained.folder / "run.json")
    assert (manifest.status, facts_in(manifest)) == (FINISHED, facts)
    assert "the last 10 of 24 examples, which are not trained on" in str(trained.progress.said)


def test_functions_may_be_named_like_fields_of_rows_and_of_steps(tmp_path: Path) -> None:
    names = sorted({*Row.__struct_fields__, *ROW_KEYS, *NAMES})
    judged = TRAINED.replace(
        "funcs=[same])",
        f"funcs=[same, *map(named, {names})], weights=[1.0] + [0.0] * {len(names)})",
    )
    source = f"""{judged}
def named(name):
    def function(**kwargs):
        return 0.25
    function.__name__ = name
    return function
"""
    trained = train_scripted(
        small_interpreter(tmp_path / "named", source), tmp_path, eval_examples=10
    )
    rows = list(read_journal(trained.folder / "journal.jsonl"))
    assert {row.reward for row in rows} == {0, 1}
    for row in rows:
        assert row.metrics == {"same": row.reward, **dict.fromkeys(names, 0.25)}
        assert isinstance(row.completion, list)
    facts = trained.result.facts
    assert facts.verdict is not None
    assert (facts.verdict.before, facts.verdict.after) == (0, 1)
    for line in _steps(trained.folder):
        assert line["reward"] == fmean(
            r.reward or 0 for r in rows if r.state["step"] == line["step"]
        )


def test_evaluations_say_in_how_many_of_k_attempts_an_example_is_solved(
    talker: Interpreter, tmp_path: Path
) -> None:
    trained = train_scripted(talker, tmp_path, steps=2, eval_examples=8, eval_rollouts=3)
    before, after = trained.result.facts.evaluations
    assert before.pass_at == {"pass@2": 0.0}
    solved: dict[int, int] = {}
    for row in read_journal(trained.folder / after.path / "journal.jsonl"):
        solved[row.example_id] = solved.get(row.example_id, 0) + int(row.reward or 0)
    # Of the three pairs of three attempts, those with a solution.
    chances = [{0: 0.0, 1: 2 / 3}.get(count, 1.0) for count in solved.values()]
    assert 0 < sum(chances) < 8
    assert after.pass_at == {"pass@2": pytest.approx(sum(chances) / 8)}
    assert f"(pass@2 {after.pass_at['pass@2']:.3g}" in str(trained.progress.said)


def test_a_training_that_was_killed_goes_on_at_its_last_checkpoint(
    talker: Interpreter, tmp_path: Path
) -> None:
    with pytest.raises(EngineFailed, match="SIGKILL") as failed:
        train_scripted(talker, tmp_path, behaviour={"die_at": 4})
    assert "--batch" in (failed.value.hint or "")
    folder = _only(tmp_path)
    assert load_manifest(folder.manifest).status == FAILED
    assert last_checkpoint(folder) == (2, folder.path / "checkpoints" / "2")
    assert [line["step"] for line in _steps(folder.path)] == [1, 2, 3]
    trained = train_scripted(talker, tmp_path, resumed=folder)
    checkpoint = folder.path / "checkpoints" / "2"
    assert f"Resuming after step 2, from {checkpoint}" in trained.progress.said
    assert [line["step"] for line in _steps(folder.path)] == [1, 2, 3, 4, 5, 6]
    manifest = load_manifest(folder.manifest)
    assert (manifest.status, len(manifest.sessions)) == (FINISHED, 2)
    assert trained.result.is_whole
    # The rollouts of step 3, which was done twice, have the same numbers.
    pairs = [(row.example_id, row.rollout) for row in read_journal(folder.journal)]
    assert len(pairs) - len(set(pairs)) == 8


def test_a_training_without_a_checkpoint_says_that_it_begins_again(
    talker: Interpreter, tmp_path: Path
) -> None:
    with pytest.raises(EngineFailed, match="SIGKILL"):
        train_scripted(talker, tmp_path, behaviour={"die_at": 2})
    trained = train_scripted(talker, tmp_path, resumed=_only(tmp_path))
    assert "There is no checkpoint yet" in str(trained.progress.said)
    assert trained.result.is_whole


@pytest.mark.parametrize(
    "stopped", [{"max_hours": 1e-9}, {"behaviour": {"stop_at": 1}}], ids=["time", "file"]
)
def test_a_training_is_stopped_by_its_time_or_by_a_file_in_its_folder(
    talker: Interpreter, tmp_path: Path, stopped: dict[str, Any]
) -> None:
    trained = train_scripted(talker, tmp_path, **stopped)
    assert not trained.result.is_whole
    assert not trained.result.is_finished
    assert load_manifest(trained.folder / "run.json").status == INTERRUPTED
    assert last_checkpoint(trained.result.folder) == (1, trained.folder / "checkpoints" / "1")


def test_a_training_that_is_stopped_in_its_last_step_has_a_verdict(
    talker: Interpreter, tmp_path: Path
) -> None:
    trained = train_scripted(talker, tmp_path, steps=1, eval_examples=4, max_hours=1e-9)
    assert trained.result.facts.verdict is not None
    assert trained.result.is_finished
    assert load_manifest(trained.folder / "run.json").status == FINISHED


@pytest.mark.skipif(sys.platform == "win32", reason="sends signals")
def test_a_second_signal_ends_a_training_at_once_and_without_a_trace(
    talker: Interpreter, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    router = SignalRouter()

    def interrupt() -> None:
        while not list(tmp_path.glob("*/metrics.jsonl")):
            time.sleep(0.02)
        for _ in range(2):
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.2)

    interrupting = threading.Thread(target=interrupt)
    with router.listening():
        interrupting.start()
        trained = train_scripted(talker, tmp_path, behaviour={"hang_at": 2}, router=router)
        interrupting.join()
    assert trained.result.signal == signal.SIGINT
    assert load_manifest(trained.folder / "run.json").status == INTERRUPTED
    gc.collect()
    assert "never retrieved" not in caplog.text


def test_an_evaluation_without_rewards_is_said_and_there_is_no_verdict(tmp_path: Path) -> None:
    fails = TRAINED.replace("    return float(", "    raise ValueError('x')\n        return float(")
    trained = train_scripted(small_interpreter(tmp_path, fails), tmp_path, steps=1, eval_examples=2)
    assert "Evaluated after 1 step: no rollout has a reward" in trained.progress.said
    assert any(warned.startswith("No verdict") for warned in trained.progress.warned)
    assert trained.result.facts.verdict is None


def test_a_cap_ends_a_training_and_names_how_to_continue(
    talker: Interpreter, tmp_path: Path
) -> None:
    with pytest.raises(PartialResult, match="token budget") as failed:
        train_scripted(talker, tmp_path, budget=Budget(None, 100), save_every=1)
    folder = _only(tmp_path)
    hint = failed.value.hint or ""
    assert f"prime train --resume {folder.run_id}" in hint
    assert str(folder.path / "checkpoints") in hint
    assert load_manifest(folder.manifest).status == CAPPED


def test_what_its_judges_cost_ends_a_training_which_a_higher_limit_continues(
    tmp_path: Path,
) -> None:
    interpreter = small_interpreter(tmp_path, JUDGED)
    used = {"prompt_tokens": 5, "completion_tokens": 10, "total_tokens": 15}
    with ScriptedModel() as model:
        model.answer = lambda _: Reply("yes", usage=used)
        price = Price(input=0.0, output=10_000.0)
        entry = RegistryEntry("judge", "judge", model.url, KeySource("JUDGE_KEY"), price=price)
        registry = Registry(entries=(entry,))
        # A call costs 10 cents, and a step has 8 of them.
        budget = Budget(2.0, None)
        with pytest.raises(PartialResult, match="The cap of") as capped:
            train_scripted(interpreter, tmp_path, budget=budget, registry=registry, save_every=1)
        folder = _only(tmp_path)
        assert 20 <= len(model.requests) < 6 * 8
        assert f"prime train --resume {folder.run_id} --max-cost" in (capped.value.hint or "")
        manifest = load_manifest(folder.manifest)
        assert manifest.status == CAPPED
        before = len(model.requests)
        with pytest.raises(PartialResult, match="The cap of") as again:  # the same one
            train_scripted(
                interpreter, tmp_path, resumed=folder, budget=Budget(2.0), registry=registry
            )
        assert f"prime train --resume {folder.run_id} --max-cost" in (again.value.hint or "")
        assert len(model.requests) == before
        trained = train_scripted(interpreter, tmp_path, resumed=folder, registry=registry)
    assert trained.result.is_whole
    assert load_manifest(folder.manifest).status == FINISHED
    assert before < len(model.requests)


def test_an_engine_that_fails_while_it_stops_is_a_failure(
    talker: Interpreter, tmp_path: Path
) -> None:
    behaviour = {"crash_after": 1, "last_words": "no room for the checkpoint"}
    with pytest.raises(EngineFailed) as failed:
        train_scripted(talker, tmp_path, behaviour=behaviour, max_hours=1e-9)
    assert failed.value.detail == "no room for the checkpoint"


def test_an_engine_that_ends_before_the_last_step_is_a_failure(
    talker: Interpreter, tmp_path: Path
) -> None:
    with pytest.raises(EngineFailed, match="ended after 2 of 6 steps"):
        train_scripted(talker, tmp_path, behaviour={"return_at": 3})
    assert load_manifest(_only(tmp_path).manifest).status == FAILED


def test_a_training_needs_the_examples_of_a_step(talker: Interpreter, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="12 examples to train on cannot fill a step of 13"):
        train_scripted(talker, tmp_path, batch=13, eval_examples=50)


SLOW = TRAINED.replace(
    "    def same(completion, answer, **kwargs):\n",
    """    calls = []
    async def same(completion, answer, **kwargs):
        import asyncio
        calls.append(answer)
        await asyncio.sleep(0.7 * len(calls))
""",
)


@pytest.mark.slow
def test_an_evaluation_that_takes_longer_than_the_stall_is_not_ended(tmp_path: Path) -> None:
    plan: dict[str, Any] = {"steps": 1, "eval_examples": 7, "eval_rollouts": 1, "stall": 4}
    trained = train_scripted(small_interpreter(tmp_path, SLOW), tmp_path, **plan)
    assert [each.step for each in trained.result.facts.evaluations] == [0, 1]


def test_rewards_without_spread_end_a_training(talker: Interpreter, tmp_path: Path) -> None:
    with pytest.raises(GateFailed, match="Nothing is left to learn from"):
        train_scripted(talker, tmp_path, behaviour={"never_right": True})
    assert len(_steps(_only(tmp_path).path)) == 3


def test_a_training_that_has_solved_all_ends_early_with_its_verdict(
    talker: Interpreter, tmp_path: Path
) -> None:
    trained = train_scripted(talker, tmp_path, steps=30, eval_examples=4)
    facts = trained.result.facts
    # The scripted policy is always right from the fifth step on.
    assert (facts.step, facts.finished_at) == (7, 7)
    assert any("rose from 0 to 1" in said for said in trained.progress.said)
    assert facts.verdict is not None
    assert [each.step for each in facts.evaluations] == [0, 7]
    assert trained.result.is_finished
    assert load_manifest(trained.folder / "run.json").status == FINISHED
    assert last_checkpoint(trained.result.folder) == (7, trained.folder / "checkpoints" / "7")


def test_rollouts_that_end_in_errors_fail_a_training_and_reach_no_cap(tmp_path: Path) -> None:
    fails = TRAINED.replace("    return float(", "    raise ValueError('x')\n        return float(")
    with pytest.raises(PartialResult, match="More than half"):
        train_scripted(small_interpreter(tmp_path, fails), tmp_path)
    assert load_manifest(_only(tmp_path).manifest).status == FAILED


def test_what_the_engine_says_of_its_end_is_the_failure(
    talker: Interpreter, tmp_path: Path
) -> None:
    failure = {"code": "storage_failed", "message": "The disk is full", "hint": "free some"}
    with pytest.raises(StorageFailed, match="The disk is full") as failed:
        train_scripted(talker, tmp_path, behaviour={"fail_at": 4, "failure": failure})
    assert "checkpoints/2" in (failed.value.hint or "")


def test_an_engine_that_hangs_is_ended(talker: Interpreter, tmp_path: Path) -> None:
    with pytest.raises(EngineFailed, match="No rollout and no step has ended for 1s"):
        train_scripted(talker, tmp_path, behaviour={"hang_at": 2}, stall=1)
    if sys.platform != "win32":
        # Where it hung is in the log.
        assert "in misbehave" in (_only(tmp_path).path / "engine.log").read_text()


def test_a_training_has_one_writer(talker: Interpreter, tmp_path: Path) -> None:
    trained = train_scripted(talker, tmp_path, steps=1)
    with writing(trained.result.folder), pytest.raises(Conflict, match="another prime"):
        train_scripted(talker, tmp_path, resumed=trained.result.folder)


def test_commands_are_told_the_id_of_a_training_or_its_folder_if_it_is_elsewhere(
    tmp_path: Path,
) -> None:
    assert typed_name(tmp_path / "outputs/train/a--b/1f2e", tmp_path) == "1f2e"
    assert typed_name(tmp_path / "my runs/train/a--b/1f2e", tmp_path) == "'my runs/train/a--b/1f2e'"
    assert typed_name(Path("/shared/outputs/train/a--b/1f2e"), tmp_path) == (
        "/shared/outputs/train/a--b/1f2e"
    )
