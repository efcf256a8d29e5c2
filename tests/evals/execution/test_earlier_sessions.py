"""A resume does not choose among answers: those that were had are scored again as saved."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest

from prime_cli.runs.folder import RunFolder
from prime_cli.runs.manifest import load_manifest
from prime_cli.runs.rows import AskedAgain, OnResume, Row
from prime_cli.runs.saved_run import open_run
from tests.evals.rerun.live import ENVIRONMENTS
from tests.helpers.environments import ECHO, interpreter_with, small_interpreter
from tests.helpers.live_run import run_live
from tests.helpers.scripted_model import Received, Reply, ScriptedModel, status

pytestmark = pytest.mark.network  # the shared venv may have to be made

SLOW = pytest.mark.slow
FAMILIES = [
    "0.1.14",
    pytest.param("0.1.3", marks=SLOW),
    pytest.param("0.1.5.post0", marks=SLOW),
    pytest.param("0.1.7.post0", marks=SLOW),
    pytest.param("0.1.8.post2", marks=SLOW),
    pytest.param("0.1.10", marks=SLOW),
    pytest.param("0.3.1", marks=SLOW),
]
WORDY = "Well, that is hard to say"
PICKY = ECHO.replace(
    'return float(completion[-1]["content"] == answer)',
    '[_, number] = completion[-1]["content"].split()\n        return float(number != "")',
)
"""Raises on answers of other than two words."""
RANKED = PICKY.replace("completion, answer,", "completions,").replace(
    '[_, number] = completion[-1]["content"].split()\n        return float(number != "")',
    '[len(c[-1]["content"].split()) == 2 or 1 / 0 for c in completions]\n'
    "        return [1.0] * len(completions)",
)
ONCE = PICKY.replace(
    "[_, number]",
    'flag = __import__("pathlib").Path(__file__).parent / "mended"\n'
    '        if flag.exists(): return float(len(completion[-1]["content"]) < 10)\n'
    "        [_, number]",
)
"""Raises until a file says that what it needs is there."""
PICKY_TASKS = (
    (ENVIRONMENTS / "echo_tasks.py")
    .read_text("utf-8")
    .replace(
        "return float(self.data.answer in trace.last_reply)",
        "[_, _] = trace.last_reply.split()\n        return 1.0",
    )
)


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    """Right and wordy in turn."""
    turns = cycle((True, False))

    def answer(request: Received) -> str:
        return request.last_user if next(turns) else WORDY

    with ScriptedModel(answer) as scripted:
        yield scripted


def rows(folder: RunFolder) -> list[Row]:
    return list(open_run(folder.path).rows())


def said(folder: RunFolder) -> list[str]:
    return [row.completion[-1]["content"] for row in rows(folder)]


SIZE: dict[str, Any] = {"num_examples": 4, "rollouts_per_example": 1, "concurrency": 1}


@pytest.mark.sample(1, "verifiers")
@pytest.mark.parametrize("verifiers", FAMILIES)
def test_the_mean_does_not_move_however_often_a_run_is_resumed(
    verifiers: str, model: ScriptedModel, tmp_path: Path
) -> None:
    interpreter = interpreter_with(tmp_path, PICKY, verifiers=verifiers)
    run = run_live(tmp_path, interpreter, model.url, **SIZE)
    answers, reward = said(run.folder), run.summary.reward
    assert run.summary.on_resume == OnResume(score=2, own=2)
    for _ in range(2):
        run = run_live(tmp_path, interpreter, model.url, resumed=run.folder, **SIZE)
    assert (said(run.folder), run.summary.reward) == (answers, reward)
    assert len(model.calls) == run.summary.usage["calls"] == 4
    assert run.summary.asked_again == AskedAgain()
    assert not run.folder.saved.exists()
    told = [row.error.traceback for row in rows(run.folder) if row.error is not None]
    assert len(told) == 2
    assert all("[_, number] = " in (text or "") for text in told)


def test_an_answer_is_scored_once_its_reward_can(model: ScriptedModel, tmp_path: Path) -> None:
    interpreter = interpreter_with(tmp_path, ONCE)
    run = run_live(tmp_path, interpreter, model.url, **SIZE)
    assert run.summary.counts.errored == 2
    site = next((tmp_path / "venv" / "lib").glob("python*")) / "site-packages"
    (site / "mended").touch()
    run = run_live(tmp_path, interpreter, model.url, resumed=run.folder, **SIZE)
    assert [row.reward for row in rows(run.folder)] == [1.0, 0.0, 1.0, 0.0]
    assert [row.again for row in rows(run.folder)] == [None, "scored", None, "scored"]
    assert len(model.calls) == 4


def test_a_fully_answered_group_is_rescored_together(model: ScriptedModel, tmp_path: Path) -> None:
    interpreter = small_interpreter(tmp_path, RANKED)
    size = SIZE | {"num_examples": 1, "rollouts_per_example": 2}
    run = run_live(tmp_path, interpreter, model.url, **size)
    assert run.summary.on_resume == OnResume(score=2, own=2)
    run = run_live(tmp_path, interpreter, model.url, resumed=run.folder, **size)
    assert len(model.calls) == 2
    assert [row.again for row in rows(run.folder)] == ["scored", "scored"]


def test_errors_are_repeated_on_request_and_reported_as_such(
    model: ScriptedModel, tmp_path: Path
) -> None:
    interpreter = small_interpreter(tmp_path, PICKY)
    run = run_live(tmp_path, interpreter, model.url, **SIZE)
    for _ in range(2):
        folder = run.folder
        run = run_live(tmp_path, interpreter, model.url, resumed=folder, retry_errors=True, **SIZE)
    assert run.summary.counts.errored == 0
    assert run.summary.asked_again == AskedAgain(rollouts=2, requested=2)
    assert load_manifest(run.folder.manifest).asked_again == run.summary.asked_again
    assert run.summary.usage["calls"] == 4 + 2 + 1


def test_refused_requests_stay_and_rollouts_without_an_answer_are_asked_again(
    model: ScriptedModel, tmp_path: Path
) -> None:
    def refused_or_down(request: Received) -> Reply | str:
        codes = {"say 0": 400, "say 1": 404}
        code = codes.get(request.last_user)
        return status(code) if code else request.last_user

    model.answer = refused_or_down
    interpreter = small_interpreter(tmp_path, ECHO)
    run = run_live(tmp_path, interpreter, model.url, **SIZE)
    assert run.summary.on_resume == OnResume(ask=1, keep=1)
    model.answer = lambda request: request.last_user
    run = run_live(tmp_path, interpreter, model.url, resumed=run.folder, **SIZE)
    assert [row.reward for row in rows(run.folder)] == [None, 1.0, 1.0, 1.0]
    assert run.summary.asked_again == AskedAgain(rollouts=1, infra=1)


@SLOW
@pytest.mark.sample(1, "verifiers")
@pytest.mark.parametrize("verifiers", ["0.3.1", "0.4.0"])
def test_v1_replays_the_saved_turns(verifiers: str, model: ScriptedModel, tmp_path: Path) -> None:
    found = interpreter_with(tmp_path, PICKY_TASKS, module="echo_tasks", verifiers=verifiers)
    interpreter = replace(found, generation="v1")
    run = run_live(tmp_path, interpreter, model.url, **SIZE)
    answers, reward = said(run.folder), run.summary.reward
    assert run.summary.on_resume == OnResume(score=2, own=2)
    run = run_live(tmp_path, interpreter, model.url, resumed=run.folder, **SIZE)
    assert (said(run.folder), run.summary.reward) == (answers, reward)
    assert len(model.calls) == run.summary.usage["calls"] == 4
    assert [row.again for row in rows(run.folder)] == [None, "scored", None, "scored"]
