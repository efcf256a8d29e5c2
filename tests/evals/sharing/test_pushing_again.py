"""Runs pushed once more: after a break, when they grew, and when the hub changed meanwhile."""

import json
import shutil
from pathlib import Path

import httpx
import pytest

from prime_cli.client.api.client import HubClient
from prime_cli.core.errors import Conflict, NotFound
from prime_cli.core.progress import Silent
from prime_cli.evals.sharing.samples import rows_of_evaluation
from prime_cli.runs.folder import Journal, RunFolder
from prime_cli.runs.rows import Row
from prime_cli.runs.scrubber import Scrubber
from prime_cli.wire.evaluations import EvaluationUpdate
from tests.evals.sharing.pushing import ROWS, SMALL, Way, only_evaluation, push, pushes_after_breaks
from tests.runs.rows import row
from tests.runs.saving import save_run


def append(folder: RunFolder, *rows: Row) -> None:
    with Journal(folder.journal, Scrubber({})) as journal:
        for each in rows:
            journal.append(each)


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


def test_what_is_found_out_of_its_judges_later_is_pushed_too(
    hub: HubClient, folder: RunFolder
) -> None:
    first = push(hub, folder)
    told = ("Its judge agrees with people",)
    assert push(hub, folder, trust=told).status == "updated"
    assert push(hub, folder, trust=told).status == "unchanged"
    found = hub.evaluations.get(first.evaluation_id)
    assert (found.metadata["prime_judges"], found.total_samples) == ([*told], 8)


@pytest.mark.parametrize("when", ["before", "after"])
def test_push_that_breaks_at_any_request_is_finished_by_the_next(
    hub: HubClient, way: Way, tmp_path: Path, when: str
) -> None:
    breaks = 0
    for result in pushes_after_breaks(hub, way, when, tmp_path / "work", ROWS):
        breaks += 1
        assert (result.status, result.samples) == ("pushed", 8)
        assert list(rows_of_evaluation(hub, result.evaluation_id)) == ROWS
        assert only_evaluation(hub).status == "COMPLETED"
        hub.evaluations.delete(result.evaluation_id)
    assert breaks >= 10, "batches were larger than meant"


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


def test_evaluation_that_is_gone_is_recreated(hub: HubClient, folder: RunFolder) -> None:
    first = push(hub, folder)
    hub.evaluations.delete(first.evaluation_id)
    said = Silent()
    second = push(hub, folder, progress=said)
    assert second.status == "pushed"
    assert only_evaluation(hub).total_samples == 8
    assert any("no longer" in each for each in said.said)


def test_another_evaluation_is_created_on_request(hub: HubClient, folder: RunFolder) -> None:
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


def test_push_makes_public_only_what_it_has_brought_whole(
    hub: HubClient, way: Way, folder: RunFolder
) -> None:
    seen: list[bool] = []

    def look(request: httpx.Request) -> None:
        if request.url.path.endswith(("/samples", "/finalize")):
            seen.append(only_evaluation(hub).is_public)

    way.before = look
    assert push(hub, folder, is_public=True, batch_bytes=SMALL).widened
    assert len(seen) > 2
    assert not any(seen)
    assert only_evaluation(hub).is_public


def test_push_says_whether_it_made_something_public(hub: HubClient, folder: RunFolder) -> None:
    assert not push(hub, folder).widened
    assert push(hub, folder, is_public=True).widened
    assert not push(hub, folder, is_public=True).widened
    assert not push(hub, folder).widened


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
