from pathlib import Path

import pytest

from tests.helpers.cli import Prime
from tests.runs.rows import row
from tests.runs.saving import save_run

QUESTION = [{"role": "user", "content": "say a"}]
ANSWER = [{"role": "assistant", "content": "a"}]


def test_without_a_name_the_newest_run_is_shown(prime: Prime, tmp_path: Path) -> None:
    save_run(tmp_path, row(0), started="2026-01-01T00:00:00+00:00")
    newest = save_run(tmp_path, row(0, reward=0.25), started="2026-02-01T00:00:00+00:00")
    shown = prime("eval", "show", "--output", "json", cwd=tmp_path).ok().json
    assert shown["run_id"] == newest.run_id
    assert shown["reward"] == {
        "mean": 0.25, "std": 0.0, "low": 0.25, "high": 0.25, "stderr": None, "interval": None,
        "interval_method": None,
    }  # fmt: skip
    assert shown["environment"]["ref"] == "ada/wordle@1.2"
    assert shown["counts"] == {"planned": 4, "scored": 1, "errored": 0, "truncated": 0}


def test_people_read_what_vf_eval_shows_and_both_bounds(prime: Prime, tmp_path: Path) -> None:
    rows = (row(0, 0, 1.0, metrics={"format": 0.5}), row(0, 1, 0.0), row(1, 0, None))
    save_run(tmp_path, *rows)
    shown = prime("eval", "show", cwd=tmp_path).ok().out
    assert "3 of 4" not in shown
    assert "4 planned, 2 scored, 1 errored" in shown
    assert "avg 0.5, std 0.5" in shown
    assert "between 0.333 and 0.5" in shown
    assert "[1, error]" in shown
    assert "1 x APITimeoutError: Request timed out" in shown


def test_a_training_is_one_screen_that_leads_to_its_steps(prime: Prime, tmp_path: Path) -> None:
    rows = [row(0, number) for number in range(200)]
    folder = save_run(tmp_path, *rows, training={"step": 25})
    shown = prime("eval", "show", folder.run_id, cwd=tmp_path).ok()
    assert len(shown.out.splitlines()) < 30
    assert f"… 192 more in `prime eval show {folder.run_id} --output json`" in shown.out
    assert f"`prime train show {folder.run_id}`" in shown.err


def test_jsonl_is_the_rollouts_as_results_have_them(prime: Prime, tmp_path: Path) -> None:
    save_run(tmp_path, row(1), row(0, metrics={"format": 0.5}))
    rows = prime("eval", "show", "--output", "jsonl", cwd=tmp_path).ok().records
    assert [each["example_id"] for each in rows] == [0, 1]
    assert rows[0]["format"] == 0.5


def test_one_rollout_is_printed_as_a_conversation(prime: Prime, tmp_path: Path) -> None:
    folder = save_run(tmp_path, row(0, 1, prompt=QUESTION, completion=ANSWER))
    shown = prime("eval", "show", folder.run_id, "--rollout", "0.1", cwd=tmp_path).ok().out
    lines = [line.split() for line in shown.splitlines()]
    assert lines[:3] == [["rollout", "0.1"], ["user", "say", "a"], ["assistant", "a"]]


def test_all_rollouts_of_an_example_and_all_errors_can_be_picked(
    prime: Prime, tmp_path: Path
) -> None:
    save_run(tmp_path, row(0, 0), row(0, 1, None), row(1, 0))
    of_example = prime("eval", "show", "--example", "0", "--output", "jsonl", cwd=tmp_path)
    assert [each["prime"]["rollout"] for each in of_example.ok().records] == [0, 1]
    errors = prime("eval", "show", "--errors", "--output", "json", cwd=tmp_path).ok().json
    assert errors["error"]["error"] == "APITimeoutError"


def test_the_absence_of_errors_is_reported(prime: Prime, tmp_path: Path) -> None:
    folder = save_run(tmp_path, row(0))
    shown = prime("eval", "show", "--errors", cwd=tmp_path).ok()
    assert shown.out == ""
    assert f"No rollout of run {folder.run_id} ended in an error" in shown.err


def test_what_is_not_there_is_named(prime: Prime, tmp_path: Path) -> None:
    save_run(tmp_path, row(0))
    for flags in (("zz",), ("--rollout", "9.9"), ("--example", "9")):
        assert prime("eval", "show", *flags, cwd=tmp_path).code == 6
    assert prime("eval", "show", "--rollout", "x", cwd=tmp_path).code == 2
    assert prime("eval", "show", "--errors", "--example", "0", cwd=tmp_path).code == 2


def test_the_list_is_records_for_scripts_and_columns_for_people(
    prime: Prime, tmp_path: Path
) -> None:
    folder = save_run(tmp_path, row(0))
    listed = prime("eval", "list", "--output", "json", cwd=tmp_path).ok().json
    assert listed["total"] == 1
    assert listed["evaluations"][0]["run_id"] == folder.run_id
    shown = prime("eval", "list", cwd=tmp_path).ok().out
    assert "ada/wordle@1.2" in shown
    assert str(folder.path.relative_to(tmp_path)) in shown


def test_an_empty_list_says_how_to_make_a_run(prime: Prime, tmp_path: Path) -> None:
    result = prime("eval", "list", cwd=tmp_path).ok()
    assert "prime eval run" in result.err


def test_the_mean_of_several_rollouts_has_an_interval(prime: Prime, tmp_path: Path) -> None:
    rows = [row(i, j, float(j == 0 or i > 4)) for i in range(10) for j in range(2)]
    run = save_run(tmp_path, *rows, row(10, 0, 1.0), row(10, 1, None)).run_id
    shown = prime("eval", "show", run, cwd=tmp_path).ok().out
    assert "pass@2       1, 95 % interval 0.692 to 1 (Clopper-Pearson)" in shown
    assert "1 of 11 examples with fewer than 2 scored rollouts left out" in shown
    asked = ("eval", "show", run, "--reduce", "pass^2,best@1", "--output", "json")
    reduced = prime(*asked, cwd=tmp_path).ok().json["reduced"]
    assert [(each["name"], each["value"]) for each in reduced] == [
        ("pass^2", 0.5),
        ("best@1", pytest.approx(8.5 / 11)),
    ]
    assert reduced[0]["interval_method"] == "Clopper-Pearson"


def test_a_threshold_says_from_where_on_a_rollout_passes(prime: Prime, tmp_path: Path) -> None:
    run = save_run(tmp_path, *(row(i, 0, i / 10) for i in range(10))).run_id
    asked = ("eval", "show", run, "--reduce", "pass@1", "--threshold", "0.8")
    shown = prime(*asked, cwd=tmp_path).ok().out
    assert "pass@1       0.2" in shown
    assert "a rollout passes with a reward of at least 0.8" in shown
    assert "pass@" not in prime("eval", "show", run, cwd=tmp_path).ok().out
    assert prime("eval", "show", run, "--threshold", "0.8", cwd=tmp_path).code == 2
    assert prime("eval", "show", run, "--reduce", "mean@2", cwd=tmp_path).code == 2
    both = prime("eval", "show", run, "--reduce", "pass@1", "--errors", cwd=tmp_path)
    assert both.code == 2
