import shutil
from pathlib import Path

import pytest

from prime_cli.core.errors import NotFound, UsageError
from prime_cli.runs.folder import Journal, writing
from prime_cli.runs.listing import RunRoots, find_run, list_runs
from prime_cli.runs.manifest import RUNNING
from prime_cli.runs.scrubber import Scrubber
from prime_cli.runs.summary import Counts, Reward
from tests.runs.rows import row
from tests.runs.saving import save_run
from tests.runs.test_vf_eval_reader import OLD, saved


def test_runs_are_listed_newest_first_wherever_they_are(tmp_path: Path) -> None:
    old = save_run(tmp_path, started="2026-01-01T00:00:00+00:00")
    (tmp_path / "environments" / "wordle").mkdir(parents=True)
    new = save_run(tmp_path, started="2026-02-01T00:00:00+00:00")
    saved(tmp_path / "outputs/evals/h2--m/1234abcd", OLD | {"date": "2026-01-15"})
    assert [item.run_id for item in list_runs(tmp_path)] == [new.run_id, "1234abcd", old.run_id]


def test_an_item_shows_reward_and_share_of_errors(tmp_path: Path) -> None:
    save_run(tmp_path, counts=Counts(4, 3, 1, 0), reward=Reward(0.5, 0.1, 0.4, 0.5))
    (item,) = list_runs(tmp_path)
    assert (item.environment, item.model) == ("ada/wordle@1.2", "org/model")
    assert (item.reward, item.errors) == (0.5, 0.25)


def test_a_run_that_goes_on_has_its_results_so_far(tmp_path: Path) -> None:
    rows = (row(0, 0, 1.0), row(0, 1, None), row(1, 0, 0.5, is_truncated=True))
    folder = save_run(tmp_path, *rows, status=RUNNING, planned=4)
    with writing(folder), Journal(folder.journal, Scrubber({})) as journal:
        (item,) = list_runs(tmp_path)
        assert (item.status, item.progress) == ("running", "3 of 4")
        assert item.counts == Counts(planned=4, scored=2, errored=1, truncated=1)
        assert (item.reward, item.errors) == (0.75, 1 / 3)
        journal.append(row(0, 1, 0.0, attempt=2))
        (item,) = list_runs(tmp_path)
        assert (item.progress, item.reward, item.errors) == ("3 of 4", 0.5, 0.0)
    (item,) = list_runs(tmp_path)
    assert (item.status, item.progress, item.reward) == ("stopped", "3 of 4", 0.5)


def test_a_run_that_was_resumed_has_not_the_results_of_its_earlier_session(tmp_path: Path) -> None:
    earlier = {"counts": Counts(4, 1, 0, 0), "reward": Reward(1.0, 0.0, 1.0, 1.0)}
    save_run(tmp_path, row(0, 0, 1.0), row(0, 1, 0.0), status=RUNNING, planned=4, **earlier)
    (item,) = list_runs(tmp_path)
    assert (item.progress, item.reward) == ("2 of 4", 0.5)


def test_a_run_that_has_begun_nothing_has_no_reward_yet(tmp_path: Path) -> None:
    save_run(tmp_path, status=RUNNING, planned=None)
    (item,) = list_runs(tmp_path)
    assert (item.progress, item.reward, item.errors) == ("0 of 4", None, None)


def test_a_run_with_a_broken_journal_is_listed_without_results(tmp_path: Path) -> None:
    folder = save_run(tmp_path, row(0), status=RUNNING)
    with folder.journal.open("a", encoding="utf-8") as file:
        file.write("nonsense\n")
    (item,) = list_runs(tmp_path)
    assert (item.status, item.counts, item.progress, item.reward) == ("stopped", None, "", None)


def test_a_run_whose_process_is_gone_is_stopped_and_not_running(tmp_path: Path) -> None:
    folder = save_run(tmp_path, row(0), status=RUNNING)
    assert list_runs(tmp_path)[0].status == "stopped"
    with writing(folder):
        assert list_runs(tmp_path)[0].status == "running"


def test_broken_folders_do_not_hide_the_others(tmp_path: Path) -> None:
    folder = save_run(tmp_path)
    broken = tmp_path / "outputs/evals/x--y/broken"
    broken.mkdir(parents=True)
    (broken / "run.json").write_text("{", encoding="utf-8")
    assert [item.run_id for item in list_runs(tmp_path)] == [folder.run_id]


def test_a_run_is_found_by_folder_file_id_or_the_start_of_its_id(tmp_path: Path) -> None:
    folder = save_run(tmp_path)
    for wanted in (str(folder.path), str(folder.journal), folder.run_id, folder.run_id[:4], None):
        assert find_run(wanted, tmp_path).folder == folder


def test_copies_of_a_run_are_distinguished_by_their_folders(tmp_path: Path) -> None:
    run = save_run(tmp_path)
    shutil.copytree(run.path, run.path.parent.parent / "copy" / run.run_id)
    with pytest.raises(UsageError, match="more than once") as refused:
        find_run(run.run_id, tmp_path)
    assert str(run.path) in refused.value.message
    assert find_run(str(run.path), tmp_path).folder == run


def test_no_runs_at_all_says_how_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(NotFound) as raised:
        find_run(None, tmp_path)
    assert "prime eval run" in (raised.value.hint or "")


def test_an_unknown_run_points_to_the_list(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="No local run `feed`"):
        find_run("feed", tmp_path)


def test_other_folders_are_looked_into_when_they_are_named(tmp_path: Path) -> None:
    (tmp_path / "envs" / "wordle").mkdir(parents=True)
    outside = save_run(tmp_path / "elsewhere", row(0))
    inside = save_run(tmp_path / "envs" / "wordle", row(0))
    roots = RunRoots(Path("elsewhere/outputs"), tmp_path / "envs")
    assert list_runs(tmp_path) == []
    found = {item.run_id for item in list_runs(tmp_path, roots)}
    assert found == {outside.run_id, inside.run_id}
    assert find_run(inside.run_id, tmp_path, roots).folder.path == inside.path
