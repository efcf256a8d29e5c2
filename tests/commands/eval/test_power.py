from pathlib import Path

import pytest

from tests.helpers.cli import Prime
from tests.runs.rows import row
from tests.runs.saving import save_run


def test_examples_and_the_difference_answer_each_other(prime: Prime) -> None:
    asked = (
        prime("eval", "power", "--rate", "0.6", "--icc", "0.5", "-d", "0.05", "--output", "json")
        .ok()
        .json
    )
    size = str(asked["examples"])
    back = (
        prime("eval", "power", "--rate", "0.6", "--icc", "0.5", "-n", size, "--output", "json")
        .ok()
        .json
    )
    assert back["difference"] == pytest.approx(0.05, abs=0.002)


def test_people_read_the_size_and_what_was_assumed(prime: Prime) -> None:
    shown = prime("eval", "power", "--discordance", "0.5", "--difference", "0.4").ok().out
    assert "Examples    25" in shown
    assert "50% of examples change" in shown
    assumed = prime("eval", "power", "--sd", "0.3", "--icc", "0.4", "-n", "100").ok().out
    assert "of both models' expected rewards 0.5 (assumed)" in assumed
    assert "of rollouts of one example 0.4 (given)" in assumed


def test_a_saved_run_shows_how_rewards_vary(prime: Prime, tmp_path: Path) -> None:
    rows = [row(i, j, float((i + j) % 3 == 0)) for i in range(6) for j in range(3)]
    run = save_run(tmp_path, *rows).run_id
    asked = ("eval", "power", run, "-d", "0.1", "-r", "4", "--output", "json")
    shown = prime(*asked, cwd=tmp_path).ok().json
    assert shown["rollouts"] == 4
    assert run in shown["source"]


def test_two_saved_runs_show_how_their_differences_vary(prime: Prime, tmp_path: Path) -> None:
    one, two = (save_run(tmp_path, *(row(i, 0, x * i / 10) for i in range(9))) for x in (0.5, 1))
    asked = ("eval", "power", one.run_id, two.run_id, "-n", "50", "--output", "json")
    assert prime(*asked, cwd=tmp_path).ok().json["method"] == "sign-flip permutation"


def test_two_identical_runs_are_reported_and_plan_nothing(prime: Prime, tmp_path: Path) -> None:
    one, two = (save_run(tmp_path, *(row(i, 0, i % 2) for i in range(9))) for _ in range(2))
    shown = prime("eval", "power", one.run_id, two.run_id, "-d", "0.05", cwd=tmp_path)
    assert shown.code == 2
    assert shown.out == ""
    assert "No example differs" in shown.err
    assert "cannot be used for planning" in shown.err
    assert "--discordance 0.2 --difference 0.1" in shown.err


@pytest.mark.parametrize(
    "words",
    [
        "--rate 0.5",
        "--difference 0.1",
        "--rate 0.5 --sd 0.1 --difference 0.1",
        "--rate 0.5 --difference 0.1",
        "--sd 0.5 --difference 0.1",
        "--rate 0.5 --icc 0.5 --discordance 0.2 --difference 0.1",
        "--discordance 0.2 --icc 0.5 --difference 0.1",
        "--discordance 0.2 --correlation 0.5 --difference 0.1",
        "--discordance 0.2 --rollouts 4 --difference 0.1",
        "--rate 0.5 --icc 0.5 --difference 0.1 a",
        "--correlation 0.5 --difference 0.1 a b",
        "--rate 0.5 --difference 0.1 --examples 3",
        "a b c --difference 0.1",
    ],
)
def test_half_a_question_is_refused(prime: Prime, words: str) -> None:
    assert prime("eval", "power", *words.split()).code == 2


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("--discordance 0.2 --icc 0.5", "`--discordance` excludes `--icc`"),
        ("--correlation 0.5 a b", "Two runs exclude `--correlation`"),
    ],
)
def test_what_the_source_already_says_is_refused(prime: Prime, words: str, sentence: str) -> None:
    refused = prime("eval", "power", "--difference", "0.1", *words.split())
    assert f"error: {sentence}\n" in refused.err
