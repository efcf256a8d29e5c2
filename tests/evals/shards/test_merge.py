"""Parts become the run that would have been without parts; others are refused and say why."""

import json
import os
import random
import shutil
from pathlib import Path
from typing import Any

import msgspec
import pytest

from prime_cli.core.errors import Conflict, NotFound, PartialResult, StorageFailed, UsageError
from prime_cli.core.progress import Silent
from prime_cli.evals.execution.run import EvalResult
from prime_cli.evals.shards.merge import merge_runs
from prime_cli.runs.folder import RunFolder, read_journal, writing
from prime_cli.runs.index.file import load_entries
from prime_cli.runs.manifest import RUNNING, InterpreterFacts, load_manifest
from prime_cli.runs.plan import Labels
from prime_cli.runs.saved_run import open_run
from tests.runs.rows import row
from tests.runs.saving import PLAN, save_part, save_parts, save_run

SPENT = {"calls": 1, "input": 10, "output": 5, "cost": 0.5}


class Heard(Silent):
    def __init__(self) -> None:
        self.said: list[str] = []

    def say(self, text: str) -> None:
        self.said.append(text)

    def warn(self, text: str, *, hint: str | None = None) -> None:
        self.said.append(text)


def merged(cwd: Path, *words: str | RunFolder, **options: Any) -> EvalResult:
    named = [str(word.path) if isinstance(word, RunFolder) else word for word in words]
    return merge_runs(named or ["parts"], cwd, options.pop("progress", Silent()), **options)


def test_the_merged_run_has_all_rows_in_order_and_the_plan_of_the_whole(tmp_path: Path) -> None:
    parts = save_parts(tmp_path / "parts", 3)
    done = merged(tmp_path)
    assert [each.reward for each in open_run(done.folder.path).rows()] == [0.0, 1.0, 2.0]
    results = done.folder.results.read_text("utf-8").splitlines()
    assert [json.loads(line)["example_id"] for line in results] == [0, 1, 2]
    manifest = load_manifest(done.folder.manifest)
    assert (manifest.plan.shard, manifest.planned, manifest.status) == (None, 3, "finished")
    assert set(manifest.parts) == {part.run_id for part in parts}
    assert done.summary == open_run(done.folder.path).summary()
    assert len(load_entries(done.folder.journal)) == 3
    assert json.loads(done.folder.metadata.read_bytes())["avg_reward"] == 1.0


def test_any_order_of_the_parts_gives_the_same_bytes(tmp_path: Path) -> None:
    parts: list[str | RunFolder] = [*save_parts(tmp_path / "parts", 5)]
    contents = []
    for outputs in ("one", "two"):
        random.Random(outputs).shuffle(parts)
        done = merged(tmp_path, *parts, outputs=outputs)
        files = {path.name: path for path in done.folder.path.iterdir() if path.name != ".lock"}
        files.pop("receipt.json")  # has the digests of a plan with another folder
        plain = files.pop("run.json").read_text("utf-8").replace(outputs, "")
        contents.append((plain, {name: path.read_bytes() for name, path in files.items()}))
    assert contents[0] == contents[1]


def test_merging_again_changes_nothing_and_says_so(tmp_path: Path) -> None:
    save_parts(tmp_path / "parts", 2)
    first, heard = merged(tmp_path), Heard()
    again = merged(tmp_path, progress=heard)
    assert (again.folder, again.summary) == (first.folder, first.summary)
    assert heard.said == ["These parts are merged already"]


def test_two_merges_at_once_are_refused(tmp_path: Path) -> None:
    save_parts(tmp_path / "parts", 2)
    with writing(merged(tmp_path).folder), pytest.raises(Conflict, match="by another prime"):
        merged(tmp_path)


def test_all_attempts_and_what_they_cost_are_kept(tmp_path: Path) -> None:
    lost = {"unjournaled": {"policy": {"org/model": SPENT}}, "labels": Labels(tags=("nightly",))}
    failed = row(0, reward=None, usage=SPENT)
    save_part(tmp_path, "1/2", failed, row(0, reward=1.0, attempt=2, usage=SPENT), **lost)
    save_part(tmp_path, "2/2", row(1, usage=SPENT), labels=Labels(tags=("nightly", "b")))
    done = merged(tmp_path, "outputs", outputs="merged")
    assert [each.attempt for each in read_journal(done.folder.journal)] == [1, 2, 1]
    assert done.summary.counts.scored == 2
    assert done.summary.usage["calls"] == 4
    assert done.summary.cost == 2.0
    assert done.summary.labels.tags == ("nightly", "b")


@pytest.mark.parametrize(
    ("other", "told"),
    [
        ({"plan": msgspec.structs.replace(PLAN, model="other")}, "model: was org/model, now other"),
        ({"plan": PLAN.with_option("examples", "1,2")}, "examples: was unset, now 1,2"),
        ({"rerun_of": "1f2e3d4c"}, "rerun_of: was unset, now 1f2e3d4c"),
        (
            {"plan": msgspec.structs.replace(PLAN, headers=("X-Team", "X-Note"))},
            "headers: was unset, now X-Team, X-Note",
        ),
        ({"fingerprint": "e" * 64}, f"fingerprint: was {'f' * 12}, now {'e' * 12}"),
        (
            {"interpreter": InterpreterFacts("3.12.1", "0.1.15", "v0", lock_digest="b" * 64)},
            "packages: was aaaaaaaaaaaa, now bbbbbbbbbbbb",
        ),
    ],
)
def test_parts_of_different_runs_are_refused_with_the_difference(
    tmp_path: Path, other: dict[str, Any], told: str
) -> None:
    facts = InterpreterFacts("3.12.1", "0.1.15", "v0", lock_digest="a" * 64)
    save_part(tmp_path / "parts", "1/2", row(0), interpreter=facts)
    save_part(tmp_path / "parts", "2/2", row(1), **{"interpreter": facts, **other})
    with pytest.raises(Conflict, match="are of different runs") as refused:
        merged(tmp_path)
    assert told in (refused.value.detail or "")


def test_a_rollout_with_two_rewards_is_refused_and_one_with_the_same_counts_once(
    tmp_path: Path,
) -> None:
    first, _ = save_parts(tmp_path / "parts", 2)
    same = save_part(tmp_path / "more", "1/2", row(0, reward=0.0, usage=SPENT))
    done = merged(tmp_path, "parts", same)
    assert (done.summary.counts.planned, done.summary.counts.scored) == (2, 2)
    assert done.summary.cost == 0.5
    other = save_part(tmp_path / "more", "1/2", row(0, reward=0.75))
    with pytest.raises(Conflict, match="Rollout 0 of example 0 has two rewards") as refused:
        merged(tmp_path, "parts", other)
    assert {first.run_id, other.run_id} <= set(refused.value.message.replace(",", "").split())


def test_missing_parts_are_named_unless_what_is_there_is_wanted(tmp_path: Path) -> None:
    parts = save_parts(tmp_path, 5)
    cut = save_part(tmp_path, "3/5", status="interrupted")
    named = [parts[0], cut, parts[4]]
    told = f"Parts 2 and 4 of 5 are missing; part 3/5 (run {cut.run_id}) has 0 of 1 rollouts"
    with pytest.raises(PartialResult) as refused:
        merged(tmp_path, *named)
    assert refused.value.message == told
    heard = Heard()
    done = merged(tmp_path, *named, partial=True, progress=heard)
    assert heard.said == [told]
    assert (done.summary.counts.planned, done.summary.counts.scored) == (5, 2)
    assert (done.summary.status, done.summary.failure) == ("interrupted", told)


def test_a_part_that_would_be_empty_is_not_missed(tmp_path: Path) -> None:
    sized = {"examples": 1, "plan": PLAN}
    part = save_part(tmp_path, "1/4", row(0), **sized)
    assert merged(tmp_path, part).summary.counts.planned == 1


def test_a_part_that_is_running_is_waited_for(tmp_path: Path) -> None:
    _, last = save_parts(tmp_path / "parts", 2)
    running = msgspec.structs.replace(load_manifest(last.manifest), status=RUNNING)
    last.manifest.write_bytes(msgspec.json.encode(running))
    with writing(last):
        with pytest.raises(PartialResult, match="still running"):
            merged(tmp_path)
        assert merged(tmp_path, partial=True).summary.counts.scored == 2


def test_what_is_no_part_is_refused_by_name_and_left_out_of_a_folder(tmp_path: Path) -> None:
    whole = save_run(tmp_path / "parts", row(0), planned=1)
    with pytest.raises(UsageError, match="not a part"):
        merged(tmp_path, whole)
    with pytest.raises(NotFound, match="has no parts"):
        merged(tmp_path, "parts")
    save_parts(tmp_path / "parts", 2)
    heard = Heard()
    merged(tmp_path, "parts", progress=heard)
    assert heard.said == ["Left out 1 other run in parts: no part of a run, or not begun"]


def test_a_rescored_part_is_refused_by_name_and_left_out_of_a_folder(tmp_path: Path) -> None:
    save_parts(tmp_path / "parts", 2)
    again = save_part(tmp_path / "parts", "1/2", row(0), rescored_of="1f2e3d4c")
    with pytest.raises(UsageError, match="is a part that was rescored") as refused:
        merged(tmp_path, again)
    assert "rescore the merged run" in (refused.value.hint or "")
    heard = Heard()
    merged(tmp_path, "parts", progress=heard)
    assert heard.said[0].startswith("Left out 1 rescored part in parts: merge the parts as they")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names")
@pytest.mark.parametrize("name", ["journal.jsonl", "journal.idx", "run.json"])
def test_a_pipe_in_place_of_a_file_does_not_hang_the_merge(tmp_path: Path, name: str) -> None:
    part, _ = save_parts(tmp_path / "parts", 2)
    (part.path / name).unlink(missing_ok=True)
    os.mkfifo(part.path / name)
    if name == "journal.jsonl":
        with pytest.raises(StorageFailed, match="not a regular file"):
            merged(tmp_path)
    elif name == "run.json":
        with pytest.raises(NotFound, match="not an evaluation"):
            merged(tmp_path)
    else:
        assert merged(tmp_path).summary.counts.scored == 2


def test_a_rollout_of_another_part_is_refused_wherever_it_is(tmp_path: Path) -> None:
    first, second = save_parts(tmp_path / "parts", 2)
    second.journal.write_bytes(first.journal.read_bytes())
    with pytest.raises(
        Conflict, match=f"Rollout 0 of example 0 is not one of part 2/2 .run {second.run_id}"
    ):
        merged(tmp_path)
    beyond = save_part(tmp_path / "more", "2/2", row(1, rollout=1))
    with pytest.raises(Conflict, match="Rollout 1 of example 1 is not one of part 2/2"):
        merged(tmp_path, first, beyond)


def test_a_rollout_in_two_parts_of_shuffled_examples_is_refused(tmp_path: Path) -> None:
    plan = PLAN.with_option("examples", "3,7").with_option("shuffle", 1)
    one, two = (save_part(tmp_path, shard, row(7), plan=plan) for shard in ("1/2", "2/2"))
    with pytest.raises(Conflict, match=r"Rollout 0 of example 7 is in part 1/2 .* and in part 2/2"):
        merged(tmp_path, one, two)
    assert not [*tmp_path.glob("outputs/evals/*/*/*.tmp")]


def test_chosen_examples_belong_to_the_parts_by_their_order(tmp_path: Path) -> None:
    plan = PLAN.with_option("examples", "3,7")
    parts = [save_part(tmp_path, f"{n}/2", row(e), plan=plan) for n, e in ((1, 3), (2, 7))]
    assert merged(tmp_path, *parts).summary.counts.scored == 2


def test_a_copy_of_a_run_is_refused_as_it_would_be_paid_twice(tmp_path: Path) -> None:
    first, _ = save_parts(tmp_path / "parts", 2)
    copy = tmp_path / "backup" / first.run_id
    shutil.copytree(first.path, copy)
    with pytest.raises(UsageError, match="exists more than once") as refused:
        merged(tmp_path, "parts", "backup")
    assert str(copy) in refused.value.message


def test_of_many_missing_parts_the_first_are_named(tmp_path: Path) -> None:
    sized = {"examples": 10**7, "plan": PLAN}
    part = save_part(tmp_path, "3/999999999", row(2), **sized)
    with pytest.raises(
        PartialResult, match=r"Parts 1, 2, 4, .*, 21 … of 999999999 are missing, 9999999 in all"
    ):
        merged(tmp_path, part)


@pytest.mark.parametrize("shard", ["1/0", "0/3", "9/3", "x", 5])
def test_a_part_that_is_not_one_of_n_is_refused(tmp_path: Path, shard: object) -> None:
    part = save_part(tmp_path, "1/1", row(0))
    text = part.manifest.read_bytes().replace(b'"1/1"', msgspec.json.encode(shard))
    part.manifest.write_bytes(text)
    with pytest.raises(UsageError, match="not one of N parts"):
        merged(tmp_path, part)


@pytest.mark.parametrize("examples", [-5, 10**15])
def test_a_part_of_impossibly_many_examples_is_refused(tmp_path: Path, examples: int) -> None:
    part = save_part(tmp_path, "1/1", row(0), examples=examples)
    with pytest.raises(UsageError, match="not a part"):
        merged(tmp_path, part)


@pytest.mark.parametrize("examples", ["0-99999999999", "x", 7.5])
def test_a_part_whose_plan_chooses_no_examples_is_refused(tmp_path: Path, examples: object) -> None:
    part = save_part(tmp_path, "1/1", row(0), plan=PLAN.with_option("examples", examples))
    with pytest.raises(UsageError, match="has no list of examples"):
        merged(tmp_path, part)


@pytest.mark.parametrize("name", ["../../other", "wordle\0"])
def test_a_merged_run_stays_below_the_folder_whatever_its_environment_is(
    tmp_path: Path, name: str
) -> None:
    (tmp_path / "cwd" / "environments").mkdir(parents=True)
    (tmp_path / "other").mkdir()
    environment = msgspec.structs.replace(PLAN.environment, name=name)
    plan = msgspec.structs.replace(PLAN, environment=environment)
    part = save_part(tmp_path / "parts", "1/1", row(0), plan=plan)
    done = merged(tmp_path / "cwd", part)
    assert done.folder.path.resolve().is_relative_to(tmp_path / "cwd" / "outputs")
