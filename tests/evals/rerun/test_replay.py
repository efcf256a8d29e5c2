"""Saved runs replayed in real interpreters of every family."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from prime_cli.core.errors import UsageError
from prime_cli.evals.planning.replay import open_recording, sized_to_recording
from prime_cli.evals.planning.request import EvalRequest
from prime_cli.models.gateway.calls import POLICY, CallIdentity
from prime_cli.models.gateway.replay import replay
from prime_cli.runs.listing import find_run
from prime_cli.runs.saved_run import open_run
from prime_cli.runtime.interpreters import Interpreter
from tests.evals.rerun.live import (
    LENGTHS,
    adding,
    environment,
    numbered,
    replay_live,
    rewards_of,
)
from tests.helpers.environments import interpreter_with, small_interpreter
from tests.helpers.live_run import run_live
from tests.helpers.scripted_model import ScriptedModel
from tests.runs.episodes import episode, save_traces
from tests.runs.rows import row
from tests.runs.saving import save_run

pytestmark = pytest.mark.network  # the shared venv may have to be made

SLOW = pytest.mark.slow
TOOLS = [
    "0.1.14",
    pytest.param("0.1.3", marks=SLOW),
    pytest.param("0.1.5.post0", marks=SLOW),
    pytest.param("0.1.7.post0", marks=SLOW),
    pytest.param("0.1.8.post2", marks=SLOW),
]


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    with ScriptedModel(numbered()) as scripted:
        yield scripted


@pytest.fixture(scope="module")
def lengths(tmp_path_factory: pytest.TempPathFactory) -> Interpreter:
    return small_interpreter(tmp_path_factory.mktemp("lengths"), LENGTHS)


def test_a_replay_gives_the_rewards_of_the_run_without_a_call(
    lengths: Interpreter, model: ScriptedModel, tmp_path: Path
) -> None:
    first = run_live(tmp_path, lengths, model.url)
    again = replay_live(tmp_path, lengths, first.folder)
    assert len(model.calls) == 4
    assert rewards_of(again.folder) == rewards_of(first.folder)
    assert len(set(rewards_of(again.folder).values())) == 4
    assert again.summary.cost == 0.0
    assert again.summary.model == f"builtin/replay:{first.folder.run_id}"
    assert ":" not in again.folder.path.name + again.folder.path.parent.name
    part = replay_live(tmp_path, lengths, first.folder, num_examples=1, rollouts_per_example=1)
    assert rewards_of(part.folder) == {(0, 0): rewards_of(first.folder)[0, 0]}


def test_an_environment_that_asks_something_else_gets_errors_and_no_wrong_turns(
    lengths: Interpreter, model: ScriptedModel, tmp_path: Path
) -> None:
    first = run_live(tmp_path, lengths, model.url)
    changed = interpreter_with(tmp_path, LENGTHS.replace('f"say {n}", "answer"', '"hm", "answer"'))
    again = replay_live(tmp_path, changed, first.folder)
    assert (again.summary.counts.scored, again.summary.counts.errored) == (0, 4)
    for each in open_run(again.folder.path).rows():
        assert each.error is not None
        assert each.error.kind == "environment"
        assert "differs from the recorded one at turn 1" in each.error.message


@pytest.mark.sample(1, "verifiers")
@pytest.mark.parametrize("verifiers", TOOLS)
def test_turns_with_tools_are_replayed_in_every_family(verifiers: str, tmp_path: Path) -> None:
    sums = environment(tmp_path, "sums", verifiers)
    with ScriptedModel(adding) as model:
        size: dict[str, Any] = {"num_examples": 1, "rollouts_per_example": 2}
        first = run_live(tmp_path, sums, model.url, **size)
        assert rewards_of(first.folder) == {(0, 0): 1.0, (0, 1): 1.0}
        calls = len(model.calls)
        again = replay_live(tmp_path, sums, first.folder, **size)
        assert len(model.calls) == calls
    assert rewards_of(again.folder) == rewards_of(first.folder)
    one, other = (next(open_run(run.folder.path).rows()) for run in (first, again))
    assert (one.completion, one.metrics) == (other.completion, other.metrics)


@pytest.mark.slow
@pytest.mark.sample(1, "verifiers")
@pytest.mark.parametrize("verifiers", ["0.4.0", "0.3.1"])
@pytest.mark.parametrize("name", ["echo_tasks", "guess_tasks"])
def test_v1_episodes_are_replayed(
    verifiers: str, name: str, model: ScriptedModel, tmp_path: Path
) -> None:
    tasks = environment(tmp_path, name, verifiers, v1=True)
    examples = 2 if name == "echo_tasks" else 1
    first = run_live(tmp_path, tasks, model.url, num_examples=examples)
    assert first.summary.counts.errored == 0
    calls = len(model.calls)
    again = replay_live(tmp_path, tasks, first.folder, num_examples=examples)
    assert len(model.calls) == calls
    assert rewards_of(again.folder) == rewards_of(first.folder)
    pairs = zip(open_run(first.folder.path).rows(), open_run(again.folder.path).rows(), strict=True)
    for one, other in pairs:
        assert (one.completion, one.metrics) == (other.completion, other.metrics)


def test_a_replay_is_as_large_as_its_run_unless_a_smaller_one_is_requested(tmp_path: Path) -> None:
    run = save_run(tmp_path, row(0, 0, 1.0), row(0, 1, 1.0), row(1, 0, 1.0), row(1, 1, 0.0))
    for word in (run.run_id, run.run_id[:6], str(run.path), str(run.path.relative_to(tmp_path))):
        recording = open_recording(f"builtin/replay:{word}", tmp_path)
        assert recording.model == f"builtin/replay:{run.run_id}"
    sized = sized_to_recording(recording, EvalRequest("x"))
    assert (sized.num_examples, sized.rollouts_per_example) == (2, 2)
    smaller = sized_to_recording(
        recording, EvalRequest("x", num_examples=1, rollouts_per_example=1)
    )
    assert (smaller.num_examples, smaller.rollouts_per_example) == (1, 1)
    assert sized_to_recording(recording, EvalRequest("x", num_examples=-1)).num_examples == 2
    with pytest.raises(UsageError, match="has 2 x 2 rollouts, and 3 x 2 were requested"):
        sized_to_recording(recording, EvalRequest("x", num_examples=3))
    assert find_run(run.run_id, tmp_path).folder == run


def test_runs_of_other_evaluators_are_recordings_as_well(tmp_path: Path) -> None:
    official = tmp_path / "vf"
    official.mkdir()
    call = '{"id": "a", "type": "function", "function": {"name": "add", "arguments": "{}"}}'
    asked = [{"role": "user", "content": "add"}]
    lines = [
        {
            "example_id": 0,
            "prompt": asked,
            "completion": [{"role": "assistant", "content": None, "tool_calls": [call]}],
            "reward": 1.0,
        }
    ]
    (official / "metadata.json").write_text('{"num_examples": 1}', encoding="utf-8")
    (official / "results.jsonl").write_text(
        "".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8"
    )
    recording = open_recording("builtin/replay:vf", tmp_path)
    said = replay(recording, recording.model, CallIdentity(0, 0, 1, POLICY), asked)
    assert said["tool_calls"][0]["function"]["name"] == "add"
    episodes = save_traces(tmp_path, episode(0), episode(0), episode(1))
    recording = open_recording(f"builtin/replay:{episodes}", tmp_path)
    assert (recording.examples, recording.rollouts) == (2, 2)
    asked = [{"role": "user", "content": "say it"}]
    assert (
        replay(recording, recording.model, CallIdentity(0, 0, 1, POLICY), asked)["content"] == "it"
    )
