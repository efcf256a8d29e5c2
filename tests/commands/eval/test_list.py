"""`prime eval list` as it is typed."""

from pathlib import Path

import pytest

from prime_cli.runs.manifest import RUNNING
from prime_cli.runs.plan import Labels
from tests.helpers.cli import Prime
from tests.runs.rows import row
from tests.runs.saving import save_run


def test_saved_runs_are_picked_by_environment_and_page(prime: Prime, tmp_path: Path) -> None:
    for month in (1, 2, 3):
        save_run(tmp_path, row(0), started=f"2026-0{month}-01T00:00:00+00:00")
    page = prime("eval", "list", "-n", "2", "-p", "2", "-o", "json", cwd=tmp_path).ok().json
    assert (page["total"], len(page["evaluations"])) == (3, 1)
    assert page["evaluations"][0]["date"].startswith("2026-01")


@pytest.mark.parametrize(
    ("name", "count"),
    [("wordle", 1), ("Wordle@1.2", 1), ("ada/wordle", 1), ("bob/wordle", 0), ("wordle@2", 0)],
)
def test_an_environment_of_a_run_is_named_in_short_or_whole(
    prime: Prime, tmp_path: Path, name: str, count: int
) -> None:
    save_run(tmp_path, row(0))
    page = prime("eval", "list", "--env", name, "-o", "json", cwd=tmp_path).ok().json
    assert page["total"] == count


def test_runs_are_found_again_by_all_of_their_tags(prime: Prime, tmp_path: Path) -> None:
    save_run(tmp_path, row(0))
    for tags in (("baseline",), ("baseline", "seed=3")):
        save_run(tmp_path, row(0), labels=Labels(tags=tags, note="first try"))
    both = prime("eval", "list", "--tag", "baseline,seed=3", "-o", "json", cwd=tmp_path).ok().json
    assert [run["tags"] for run in both["evaluations"]] == [["baseline", "seed=3"]]
    assert both["evaluations"][0]["note"] == "first try"
    told = prime("eval", "list", cwd=tmp_path).ok().out
    assert "Tags" in told
    assert "baseline, seed=3" in told


def test_a_run_that_goes_on_says_how_far_it_is(prime: Prime, tmp_path: Path) -> None:
    save_run(tmp_path, row(0, reward=0.25), row(1, reward=None), status=RUNNING, planned=40)
    assert "stopped, 2 of 40" in prime("eval", "list", cwd=tmp_path).ok().out
    (run,) = prime("eval", "list", "-o", "json", cwd=tmp_path).ok().json["evaluations"]
    assert run["counts"] == {"planned": 40, "scored": 1, "errored": 1, "truncated": 0}
    assert (run["reward"], run["errors"], run["status"]) == (0.25, 0.5, "stopped")


def test_a_hubs_evaluations_are_not_looked_through_by_tag(prime: Prime, tmp_path: Path) -> None:
    told = prime("eval", "list", "--hub", "--tag", "baseline", cwd=tmp_path)
    assert told.code == 2
    assert "applies only to local runs" in told.err
