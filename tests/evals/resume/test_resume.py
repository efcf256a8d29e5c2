"""Whole runs that are resumed, in a real interpreter."""

import json
import resource
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from prime_cli.core.errors import Conflict, LoadFailed, StorageFailed
from prime_cli.evals.execution.run import EvalResult
from prime_cli.runs.folder import Journal, RunFolder, writing
from prime_cli.runs.listing import list_runs
from prime_cli.runs.manifest import RunManifest, load_manifest
from prime_cli.runs.scrubber import Scrubber
from prime_cli.runtime.interpreters import Interpreter
from tests.helpers.environments import ECHO, small_interpreter
from tests.helpers.live_run import run_live
from tests.helpers.scripted_model import Received, Reply, ScriptedModel, status
from tests.runs.rows import row

pytestmark = pytest.mark.network  # the shared venv may have to be made

SHUFFLED = ECHO.replace("return vf.", "random.shuffle(rows)\n    return vf.").replace(
    "import verifiers", "import random\nimport verifiers"
)
RANKED = ECHO.replace("completion, answer,", "completions, answers,").replace(
    'float(completion[-1]["content"] == answer)',
    '[float(c[-1]["content"] == a) for c, a in zip(completions, answers)]',
)


@pytest.fixture(scope="module")
def echo(tmp_path_factory: pytest.TempPathFactory) -> Interpreter:
    return small_interpreter(tmp_path_factory.mktemp("echo"), ECHO)


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    with ScriptedModel() as scripted:
        yield scripted


def rows_of(folder: RunFolder) -> list[Any]:
    """Of results.jsonl, without times and what lost tries cost."""
    rows = [json.loads(line) for line in folder.results.read_text("utf-8").splitlines()]
    for each in rows:
        del each["timing"], each["token_usage"]
        each["prime"] = each["prime"]["rollout"]
    return rows


def asked(model: ScriptedModel) -> list[str]:
    return sorted(call.last_user for call in model.calls)


def cut(folder: RunFolder, lines: int, torn: bytes = b"") -> None:
    """What a kill leaves: the first lines of the journal and a piece of the next."""
    kept = folder.journal.read_bytes().splitlines(keepends=True)[:lines]
    folder.journal.write_bytes(b"".join(kept) + torn)
    text = folder.manifest.read_text("utf-8").replace('"finished"', '"running"')
    folder.manifest.write_text(text, "utf-8")


def manifest_of(result: EvalResult) -> RunManifest:
    return load_manifest(result.folder.manifest)


def refuse_one(request: Received) -> Reply | str:
    return status(404) if request.last_user == "say 1" else request.last_user


def test_rollouts_that_got_no_answer_are_run_again_and_no_others(
    echo: Interpreter, model: ScriptedModel, tmp_path: Path
) -> None:
    model.answer = refuse_one
    first = run_live(tmp_path, echo, model.url, num_examples=3)
    assert first.summary.counts.errored == 2
    model.answer = lambda request: request.last_user
    model.requests.clear()
    again = run_live(tmp_path, echo, model.url, num_examples=3, resumed=first.folder)
    assert asked(model) == ["say 1", "say 1"]
    assert (again.summary.counts.scored, again.summary.counts.errored) == (6, 0)
    assert again.summary.run_id == first.summary.run_id
    assert [each["prime"] for each in rows_of(again.folder)] == [0, 1, 0, 1, 0, 1]
    assert len(again.folder.journal.read_bytes().splitlines()) == 8


def test_a_torn_line_and_what_follows_run_again_and_the_results_are_those_of_a_calm_run(
    echo: Interpreter, model: ScriptedModel, tmp_path: Path
) -> None:
    calm = run_live(tmp_path, echo, model.url, num_examples=4)
    rows, metadata = rows_of(calm.folder), json.loads(calm.folder.metadata.read_text("utf-8"))
    cut(calm.folder, 3, b'{"schema":1,"example_id":')
    (calm.folder.path / ".results.jsonl.1-2.tmp").write_text("half", "utf-8")
    model.requests.clear()
    result = run_live(tmp_path, echo, model.url, num_examples=4, resumed=calm.folder)
    assert len(model.calls) == 5
    assert rows_of(result.folder) == rows
    again = json.loads(result.folder.metadata.read_text("utf-8"))
    times = ("time", "time_ms", "usage")
    assert {k: v for k, v in again.items() if k not in times} == {
        k: v for k, v in metadata.items() if k not in times
    }
    assert not list(result.folder.path.glob(".*.tmp"))
    assert len(list_runs(tmp_path)) == 1


def test_a_run_grows_by_examples_and_by_rollouts(
    echo: Interpreter, model: ScriptedModel, tmp_path: Path
) -> None:
    run = run_live(tmp_path, echo, model.url, num_examples=2, rollouts_per_example=1)
    for size, calls in (((3, 1), 3), ((3, 2), 6), ((-1, 2), 20)):
        plan: dict[str, Any] = {"num_examples": size[0], "rollouts_per_example": size[1]}
        run = run_live(tmp_path, echo, model.url, resumed=run.folder, **plan)
        assert len(model.calls) == run.summary.counts.scored == calls
    manifest = manifest_of(run)
    assert (manifest.examples, manifest.planned, manifest.plan.num_examples) == (10, 20, -1)
    assert [session.status for session in manifest.sessions] == ["finished"] * 4
    assert manifest.usage["calls"] == 20
    assert len(set(asked(model))) == 10


def test_a_shuffled_run_grows_in_the_order_that_it_began_with(
    echo: Interpreter, model: ScriptedModel, tmp_path: Path
) -> None:
    shuffled: dict[str, Any] = {"options": {"shuffle": 7}, "rollouts_per_example": 1}
    run = run_live(tmp_path, echo, model.url, num_examples=2, **shuffled)
    run = run_live(tmp_path, echo, model.url, num_examples=9, resumed=run.folder, **shuffled)
    assert len(model.calls) == run.summary.counts.scored == 9
    assert len(set(asked(model))) == 9
    assert "say 9" in asked(model)  # the one that a run in order would not have come to
    with pytest.raises(Conflict, match="its scores could change") as refused:
        run_live(tmp_path, echo, model.url, num_examples=9, resumed=run.folder)
    assert refused.value.detail == "shuffle: was 7, now unset"


def test_a_group_that_grows_runs_again_as_a_whole(model: ScriptedModel, tmp_path: Path) -> None:
    interpreter = small_interpreter(tmp_path, RANKED)
    run = run_live(tmp_path, interpreter, model.url)
    model.requests.clear()
    run = run_live(tmp_path, interpreter, model.url, rollouts_per_example=3, resumed=run.folder)
    assert len(model.calls) == run.summary.counts.scored == 6
    rows = [json.loads(line) for line in run.folder.results.read_text("utf-8").splitlines()]
    assert [each["prime"]["attempt"] for each in rows] == [2] * 6


def test_another_dataset_is_refused_before_the_model_is_called(
    model: ScriptedModel, tmp_path: Path
) -> None:
    interpreter = small_interpreter(tmp_path, SHUFFLED)
    run = run_live(tmp_path, interpreter, model.url, num_examples=8, rollouts_per_example=1)
    before = run.folder.manifest.read_bytes()
    results = run.folder.results.read_bytes()
    model.requests.clear()
    with pytest.raises(Conflict, match="the first 8 examples have changed") as raised:
        run_live(tmp_path, interpreter, model.url, num_examples=8, resumed=run.folder)
    assert raised.value.exit_code == 7
    assert "seed" in (raised.value.hint or "")
    assert model.calls == []
    assert json.loads(run.folder.manifest.read_bytes()) == json.loads(before)
    assert run.folder.results.read_bytes() == results


def test_a_resume_that_cannot_load_leaves_the_run_as_it_was(
    model: ScriptedModel, tmp_path: Path
) -> None:
    interpreter = small_interpreter(tmp_path, ECHO)
    run = run_live(tmp_path, interpreter, model.url)
    before = json.loads(run.folder.manifest.read_bytes())
    broken = small_interpreter(tmp_path / "broken", "raise KeyError('no data')")
    with pytest.raises(LoadFailed):
        run_live(tmp_path, broken, model.url, num_examples=4, resumed=run.folder)
    assert json.loads(run.folder.manifest.read_bytes()) == before


def test_a_run_that_another_process_is_at_is_refused(
    echo: Interpreter, model: ScriptedModel, tmp_path: Path
) -> None:
    run = run_live(tmp_path, echo, model.url)
    with writing(run.folder), pytest.raises(Conflict, match="written by another prime"):
        run_live(tmp_path, echo, model.url, num_examples=4, resumed=run.folder)
    assert len(model.calls) == 4


def test_a_session_that_was_killed_has_an_end_and_its_tokens_count(
    echo: Interpreter, model: ScriptedModel, tmp_path: Path
) -> None:
    run = run_live(tmp_path, echo, model.url, num_examples=3)
    cut(run.folder, 4)
    result = run_live(tmp_path, echo, model.url, num_examples=3, resumed=run.folder)
    manifest = manifest_of(result)
    assert [session.status for session in manifest.sessions] == ["stopped", "finished"]
    assert manifest.sessions[0].ended is not None
    assert manifest.started == manifest.sessions[0].started
    assert manifest.ended == manifest.sessions[1].ended
    assert manifest.seconds == pytest.approx(sum(each.seconds or 0 for each in manifest.sessions))
    assert manifest.usage["calls"] == 4 + 2


def test_a_group_split_by_a_kill_is_joined(model: ScriptedModel, tmp_path: Path) -> None:
    interpreter = small_interpreter(tmp_path, RANKED)
    run = run_live(tmp_path, interpreter, model.url)
    rows = rows_of(run.folder)
    cut(run.folder, 4)
    with Journal(run.folder.journal, Scrubber({})) as journal:
        journal.append(row(0, 0, attempt=2))  # of an attempt of which the second row is missing
    model.requests.clear()
    result = run_live(tmp_path, interpreter, model.url, resumed=run.folder)
    assert asked(model) == ["say 0", "say 0"]
    assert rows_of(result.folder) == rows


@pytest.mark.skipif(sys.platform != "linux", reason="limits of Linux")
def test_a_disk_that_is_full_ends_the_run_which_continues_when_there_is_room(
    echo: Interpreter, model: ScriptedModel, tmp_path: Path
) -> None:
    model.answer = "x" * 20_000
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    plan: dict[str, Any] = {"num_examples": 10, "rollouts_per_example": 1, "concurrency": 2}
    try:
        # The kernel refuses to let a file grow any further, as it does on a full disk.
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, before[1]))
        with pytest.raises(StorageFailed) as raised:
            run_live(tmp_path, echo, model.url, **plan)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert raised.value.exit_code == 74
    (item,) = list_runs(tmp_path)
    folder = RunFolder(Path(item.path))
    kept = folder.journal.read_bytes().count(b"\n")
    assert 1 <= kept < 10
    model.requests.clear()
    result = run_live(tmp_path, echo, model.url, resumed=folder, **plan)
    assert len(model.calls) == 10 - kept
    assert result.summary.counts.scored == 10
    assert [each["example_id"] for each in rows_of(result.folder)] == list(range(10))


def test_a_resume_of_chosen_examples_asks_for_those_that_are_missing(
    echo: Interpreter, model: ScriptedModel, tmp_path: Path
) -> None:
    chosen: dict[str, Any] = {"options": {"examples": "4,8-9"}, "num_examples": 3}
    run = run_live(tmp_path, echo, model.url, rollouts_per_example=1, **chosen)
    assert asked(model) == ["say 4", "say 8", "say 9"]
    cut(run.folder, 1)
    again: dict[str, Any] = {"rollouts_per_example": 1, "resumed": run.folder}
    run = run_live(tmp_path, echo, model.url, **again, **chosen)
    assert {each["example_id"] for each in rows_of(run.folder)} == {4, 8, 9}
    assert len(model.calls) == 5
    with pytest.raises(Conflict, match="its scores could change") as refused:
        run_live(tmp_path, echo, model.url, num_examples=3, **again)
    assert refused.value.detail == "examples: was 4,8-9, now unset"
