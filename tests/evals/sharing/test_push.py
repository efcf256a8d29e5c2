"""Saved runs pushed to a hub: once, whole, without secrets, however often it breaks off."""

import json
import shutil
from itertools import count
from pathlib import Path
from typing import Any

import httpx
import pytest

from prime_cli.api.client import HubClient
from prime_cli.core.errors import Conflict, NotFound, PartialResult, UsageError
from prime_cli.core.progress import Silent
from prime_cli.evals.folder import RunFolder, writing
from prime_cli.evals.journal import Journal
from prime_cli.evals.rows import Row
from prime_cli.evals.scrub import Scrubber
from prime_cli.evals.sharing.fetched import manifest_of, rows_of_evaluation
from prime_cli.wire.evaluations import EvaluationUpdate
from tests.evals.rows import row
from tests.evals.saving import save_run
from tests.evals.sharing.pushing import (
    Way,
    change_environment,
    only_evaluation,
    open_way,
    push,
    wheel_of,
)

ROWS = [
    row(example, rollout, reward=example / 4, metrics={"format": 1.0}, completion="c" * 400)
    for example in range(4)
    for rollout in range(2)
]
SMALL = 1000
"""Bytes of a batch, so that ROWS need several."""


@pytest.fixture
def reached(tmp_path: Path) -> tuple[HubClient, Way]:
    return open_way(tmp_path / "hub")


@pytest.fixture
def hub(reached: tuple[HubClient, Way]) -> HubClient:
    return reached[0]


@pytest.fixture
def way(reached: tuple[HubClient, Way]) -> Way:
    return reached[1]


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    """A finished run of `ada/wordle@1.2`."""
    return save_run(tmp_path / "work", *ROWS, planned=8)


def samples(hub: HubClient) -> list[dict[str, Any]]:
    return [
        json.loads(each) for each in hub.evaluations.all_samples(only_evaluation(hub).evaluation_id)
    ]


def append(folder: RunFolder, *rows: Row) -> None:
    with Journal(folder.journal, Scrubber({})) as journal:
        for each in rows:
            journal.append(each)


def test_pushed_run_is_on_the_hub_with_its_mean_and_its_manifest(
    hub: HubClient, folder: RunFolder
) -> None:
    result = push(hub, folder)
    assert (result.status, result.samples, result.skipped) == ("pushed", 8, [])
    found = only_evaluation(hub)
    assert found.evaluation_id == result.evaluation_id
    assert (found.status, found.name) == ("COMPLETED", "ada/wordle-org/model")
    assert (found.avg_score, found.metrics) == (0.375, {"reward": 0.375, "format": 1.0})
    (environment,) = found.environments
    assert (environment.slug, environment.semantic_version) == ("ada/wordle", "1.2")
    assert found.is_public is False
    assert found.metadata["num_examples"] == 2
    assert not [name for name in found.metadata if name.startswith("avg_")]
    manifest = manifest_of(found)
    assert manifest is not None
    assert manifest.run_id == folder.run_id
    assert list(rows_of_evaluation(hub, found.evaluation_id)) == ROWS


def test_pushing_twice_makes_one_evaluation(hub: HubClient, folder: RunFolder) -> None:
    first = push(hub, folder)
    second = push(hub, folder)
    assert (second.status, second.evaluation_id) == ("unchanged", first.evaluation_id)
    assert only_evaluation(hub).total_samples == 8


def test_copy_of_a_folder_that_forgot_its_push_finds_its_evaluation(
    hub: HubClient, folder: RunFolder
) -> None:
    first = push(hub, folder)
    (folder.path / "push.json").unlink()
    shutil.copytree(folder.path, folder.path.with_name("copied"))
    again = push(hub, RunFolder(folder.path.with_name("copied")))
    assert again.evaluation_id == first.evaluation_id
    assert only_evaluation(hub).total_samples == 8


@pytest.mark.parametrize("when", ["before", "after"])
def test_push_that_breaks_at_any_request_is_finished_by_the_next(
    hub: HubClient, way: Way, tmp_path: Path, when: str
) -> None:
    left = 0

    def interrupt(_request: httpx.Request) -> None:
        nonlocal left
        left -= 1
        if not left:
            raise KeyboardInterrupt

    setattr(way, when, interrupt)
    for wanted in count(1):
        folder = save_run(tmp_path / "work", *ROWS, planned=8)
        left = wanted
        try:
            push(hub, folder, batch_bytes=SMALL)
        except KeyboardInterrupt:
            result = push(hub, folder, batch_bytes=SMALL)
        else:
            break
        assert (result.status, result.samples) == ("pushed", 8)
        assert list(rows_of_evaluation(hub, result.evaluation_id)) == ROWS
        assert only_evaluation(hub).status == "COMPLETED"
        hub.evaluations.delete(result.evaluation_id)
    assert wanted > 10, "batches were larger than meant"


def test_what_the_hub_has_taken_is_not_sent_again(
    hub: HubClient, way: Way, folder: RunFolder
) -> None:
    sent: list[int] = []

    def interrupt(request: httpx.Request) -> None:
        if request.url.path.endswith("/samples"):
            sent.append(len(json.loads(request.content)["samples"]))
            if len(sent) == 3:
                raise KeyboardInterrupt

    way.before = interrupt
    with pytest.raises(KeyboardInterrupt):
        push(hub, folder, batch_bytes=SMALL)
    push(hub, folder, batch_bytes=SMALL)
    assert sum(sent) - sent[2] == 8


def test_run_that_was_resumed_since_is_brought_up_to_date(
    hub: HubClient, folder: RunFolder
) -> None:
    first = push(hub, folder)
    append(folder, row(0, 0, reward=1.0, attempt=2), row(4, 0, reward=1.0))
    again = push(hub, folder)
    assert (again.status, again.evaluation_id, again.samples) == ("updated", first.evaluation_id, 9)
    found = only_evaluation(hub)
    assert found.total_samples == 9
    assert found.avg_score == pytest.approx((3.0 + 1.0 + 1.0) / 9)
    assert found.metrics["reward"] == pytest.approx(5.0 / 9)


def test_evaluation_that_is_gone_is_made_anew(hub: HubClient, folder: RunFolder) -> None:
    first = push(hub, folder)
    hub.evaluations.delete(first.evaluation_id)
    said = Silent()
    second = push(hub, folder, progress=said)
    assert second.status == "pushed"
    assert only_evaluation(hub).total_samples == 8
    assert any("no longer" in each for each in said.said)


def test_another_evaluation_is_made_when_that_is_asked_for(
    hub: HubClient, folder: RunFolder
) -> None:
    first = push(hub, folder)
    second = push(hub, folder, anew=True)
    assert first.evaluation_id != second.evaluation_id
    assert [each.total_samples for each in hub.evaluations.list().evaluations] == [8, 8]
    assert push(hub, folder).evaluation_id == second.evaluation_id


def test_name_and_visibility_are_changed_by_another_push(hub: HubClient, folder: RunFolder) -> None:
    push(hub, folder, name="first")
    assert push(hub, folder, name="second", is_public=True).status == "unchanged"
    found = only_evaluation(hub)
    assert (found.name, found.is_public) == ("second", True)
    push(hub, folder)
    assert (only_evaluation(hub).name, only_evaluation(hub).is_public) == ("second", True)


def test_run_goes_into_the_evaluation_that_is_named(hub: HubClient, folder: RunFolder) -> None:
    target = push(hub, folder).evaluation_id
    other = save_run(folder.path.parents[3], *ROWS[:2], row(9, reward=1.0), planned=3)
    assert push(hub, other, evaluation_id=target).evaluation_id == target
    assert only_evaluation(hub).total_samples == 9
    with pytest.raises(NotFound):
        push(hub, other, evaluation_id="ev_unknown")


def test_evaluation_that_was_cancelled_meanwhile_is_not_filled(
    hub: HubClient, way: Way, folder: RunFolder
) -> None:
    def interrupt(request: httpx.Request) -> None:
        if request.url.path.endswith("/samples"):
            raise KeyboardInterrupt

    way.after = interrupt
    with pytest.raises(KeyboardInterrupt):
        push(hub, folder, batch_bytes=SMALL)
    hub.evaluations.update(only_evaluation(hub).evaluation_id, EvaluationUpdate(status="CANCELLED"))
    way.after = lambda _request: None
    with pytest.raises(Conflict, match="CANCELLED"):
        push(hub, folder)
    assert push(hub, folder, anew=True).samples == 8


def test_secrets_of_today_are_taken_out_of_everything(hub: HubClient, tmp_path: Path) -> None:
    leak = "it said sk-planted-value aloud"
    folder = save_run(tmp_path, row(0, reward=1.0, completion=leak), usage={"note": leak})
    folder.log.write_text(f"{leak}\n", encoding="utf-8")
    push(hub, folder)
    found = only_evaluation(hub)
    whole = json.dumps([samples(hub), found.metadata, hub.evaluations.logs(found.evaluation_id)])
    assert "sk-planted-value" not in whole
    assert whole.count("[SOME_KEY]") >= 3  # in a sample, in what is said of the run, in its log


def test_text_with_a_null_character_is_kept(hub: HubClient, tmp_path: Path) -> None:
    folder = save_run(tmp_path, row(0, completion="a\0b"), planned=1)
    push(hub, folder)
    (found,) = rows_of_evaluation(hub, only_evaluation(hub).evaluation_id)
    assert found.completion == "a\0b"


def test_log_of_the_run_goes_along(hub: HubClient, folder: RunFolder) -> None:
    folder.log.write_text("loading\n" + "x" * 2_000_000 + "\nlast line\n", encoding="utf-8")
    push(hub, folder)
    assert hub.evaluations.logs(only_evaluation(hub).evaluation_id) == "last line\n"


def test_run_with_errors_is_pushed_only_if_that_is_said(hub: HubClient, tmp_path: Path) -> None:
    folder = save_run(tmp_path, row(0, reward=1.0), row(1, reward=None), planned=2)
    with pytest.raises(PartialResult, match="1 of 2") as refused:
        push(hub, folder)
    assert "--allow-partial" in (refused.value.hint or "")
    assert hub.evaluations.list().total == 0
    push(hub, folder, partial=True)
    found = only_evaluation(hub)
    assert (found.avg_score, found.summary and found.summary.errors) == (1.0, 1)


def test_run_that_has_not_ended_is_pushed_only_if_that_is_said(
    hub: HubClient, tmp_path: Path
) -> None:
    folder = save_run(tmp_path, *ROWS[:3], status="interrupted", planned=8)
    with pytest.raises(PartialResult, match="3 of 8"):
        push(hub, folder)
    assert push(hub, folder, partial=True).samples == 3
    with pytest.raises(UsageError, match="no rollouts"):
        push(hub, save_run(tmp_path))


def test_run_that_is_being_written_is_left_alone(hub: HubClient, folder: RunFolder) -> None:
    with writing(folder), pytest.raises(Conflict):
        push(hub, folder)


def test_local_environment_is_refused_with_the_command_that_publishes_it(
    hub: HubClient, folder: RunFolder
) -> None:
    change_environment(folder, ref=None, path="/home/ada/my-env", name="my-env")
    with pytest.raises(NotFound, match="my-env") as refused:
        push(hub, folder)
    assert "prime env upload /home/ada/my-env" in (refused.value.hint or "")
    change_environment(folder, name="wordle")
    with pytest.raises(NotFound, match="other contents"):
        push(hub, folder)
    assert hub.evaluations.list().total == 0


def test_local_environment_is_found_once_it_is_published(hub: HubClient, folder: RunFolder) -> None:
    change_environment(folder, ref=None, path="/home/ada/wordle", sha256=wheel_of(hub))
    push(hub, folder)
    found = only_evaluation(hub)
    assert found.environment_names == ["ada/wordle"]
    assert "/home/ada" not in json.dumps(found.metadata)
    manifest = manifest_of(found)
    assert manifest is not None
    assert manifest.plan.environment.ref == "ada/wordle@1.2"


def test_folder_of_vf_eval_is_pushed(hub: HubClient, tmp_path: Path) -> None:
    folder = tmp_path / "outputs" / "evals" / "e" / "1a2b3c4d"
    folder.mkdir(parents=True)
    metadata = {"env_id": "ada/wordle", "model": "m", "num_examples": 2, "avg_reward": 0.5}
    (folder / "metadata.json").write_text(json.dumps(metadata), encoding="utf-8")
    lines = [
        {"example_id": 0, "reward": 1.0, "completion": "half \ud83d", "metrics": {"f": 0.5}},
        {"example_id": 1, "reward": 0.0, "info": {"n": 2**70, "nan": float("nan")}},
    ]
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (folder / "results.jsonl").write_text(text, encoding="utf-8")
    push(hub, RunFolder(folder))
    assert push(hub, RunFolder(folder)).status == "unchanged"
    found = only_evaluation(hub)
    assert (found.avg_score, found.total_samples, found.model_name) == (0.5, 2, "m")
    assert found.metrics == {"reward": 0.5, "f": 0.5}
    assert [each.info for each in rows_of_evaluation(hub, found.evaluation_id)] == [
        None,
        {"n": 2**70, "nan": None},
    ]
