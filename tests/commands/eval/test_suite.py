"""Suites as users run them: starters for different verifiers, one budget, one leaderboard."""

import csv
import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.helpers.cli import COMMAND, Prime, Result, prime_process
from tests.helpers.scripted_model import ScriptedModel

SECONDS = 600

MIXED = """
num_examples = 2
rollouts_per_example = 2

[suite]
at_once = 2

[[matrix]]
models = ["builtin/oracle", "builtin/echo"]
environments = ["starter/reverse-text", "starter/word-ladder"]
[[matrix.exclude]]
model = "builtin/echo"
environment = "starter/word-ladder"

[[eval]]
id = "nobody/nothing"
model = "builtin/oracle"
"""


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    with ScriptedModel(latency=0.2) as scripted:
        yield scripted


def suite(folder: Path, text: str) -> Path:
    path = folder / "nightly.toml"
    path.write_text(text, encoding="utf-8")
    return path


def typed(folder: Path, *argv: str) -> Result:
    return prime_process("eval", *argv, cwd=folder, timeout=SECONDS)


def one_of(model: ScriptedModel, examples: int) -> str:
    return f"""
        api_base_url = "{model.url}"
        api_key_var = "NO_KEY"
        num_examples = {examples}
        rollouts_per_example = 1
        max_concurrent = 2
        [suite]
        at_once = 2
        [[ablation]]
        id = "starter/reverse-text"
        [ablation.sweep]
        model = ["small", "large"]
    """


@pytest.mark.slow
@pytest.mark.usefixtures("one_home")
def test_environments_for_different_verifiers_are_on_one_leaderboard(tmp_path: Path) -> None:
    suite(tmp_path, MIXED)
    result = typed(tmp_path, "run", "nightly.toml", "--output", "json")
    assert result.code == 3, result.err
    assert "1 of 4 evaluations did not finish: nobody/nothing builtin/oracle" in result.err
    board = result.json
    lines = {line["key"]: line for line in board["standings"]}
    for key in ("starter/reverse-text builtin/oracle", "starter/word-ladder builtin/oracle"):
        assert (lines[key]["reward"], lines[key]["rank"], lines[key]["scored"]) == (1.0, None, 4)
    assert lines["starter/reverse-text builtin/echo"]["rank"] is None
    assert lines["nobody/nothing builtin/oracle"]["status"] == "failed"
    (folder,) = (tmp_path / "outputs" / "suites" / "nightly").iterdir()
    with (folder / "leaderboard.csv").open(encoding="utf-8") as file:
        assert len(list(csv.DictReader(file))) == 4
    again = typed(tmp_path, "leaderboard", board["suite_id"][:4], "--output", "json").ok()
    assert again.json["standings"] == board["standings"]


@pytest.mark.slow
@pytest.mark.usefixtures("one_home")
def test_one_budget_stops_all_and_a_larger_one_continues(
    model: ScriptedModel, tmp_path: Path
) -> None:
    suite(tmp_path, one_of(model, examples=8))
    argv = ("run", "nightly.toml", "--output", "json")
    stopped = typed(tmp_path, *argv, "--token-budget", "60")
    assert stopped.code == 3, stopped.err
    assert "The budget of the suite is used up" in stopped.err
    calls = len(model.calls)
    assert calls < 16
    whole = typed(tmp_path, *argv, "--resume", "--token-budget", "100000").ok().json
    assert [line["scored"] for line in whole["standings"]] == [8, 8]
    # Two runs of two rollouts at a time may have been in flight.
    assert len(model.calls) <= 16 + 4
    assert len(list((tmp_path / "outputs" / "suites" / "nightly").iterdir())) == 1


@pytest.mark.slow
@pytest.mark.usefixtures("one_home")
@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
@pytest.mark.sample(1, "number")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_suite_that_was_stopped_continues_where_it_was(
    number: signal.Signals, model: ScriptedModel, tmp_path: Path
) -> None:
    suite(tmp_path, one_of(model, examples=10))
    typed(tmp_path, "run", "starter/reverse-text", "-m", "builtin/oracle", "-n", "1").ok()
    process = subprocess.Popen(
        [*COMMAND, "eval", "run", "nightly.toml"], cwd=tmp_path, stderr=subprocess.PIPE
    )
    end = time.monotonic() + SECONDS
    while len(model.calls) < 6:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end
        time.sleep(0.05)
    process.send_signal(number)
    process.communicate(timeout=SECONDS)
    assert process.returncode == (130 if number == signal.SIGINT else -number)
    whole = typed(tmp_path, "run", "nightly.toml", "--resume", "--output", "json").ok().json
    assert [line["scored"] for line in whole["standings"]] == [10, 10]
    assert len(model.calls) <= 20 + 4


def test_gates_are_for_one_evaluation(prime: Prime, tmp_path: Path) -> None:
    suite(tmp_path, MIXED)
    result = prime("eval", "run", "nightly.toml", "--fail-under", "0.5", cwd=tmp_path)
    assert result.code == 2
    assert "prime eval gate" in result.err


@pytest.mark.parametrize(
    ("text", "told"),
    [("[[eval]]\nid = 3", "`env_id` must be a text"), ("x = 1\n[[eval]]\nid = 'a'", "`x` is not")],
)
def test_a_file_that_is_wrong_ends_with_2_before_anything_runs(
    text: str, told: str, prime: Prime, tmp_path: Path
) -> None:
    suite(tmp_path, text)
    result = prime("eval", "run", "nightly.toml", cwd=tmp_path)
    assert result.code == 2
    assert told in result.err
    assert not (tmp_path / "outputs").exists()


@pytest.mark.slow
@pytest.mark.usefixtures("one_home")
def test_the_same_line_with_resume_begins_and_then_has_nothing_to_do(
    model: ScriptedModel, tmp_path: Path
) -> None:
    suite(tmp_path, one_of(model, examples=2))
    argv = ("run", "nightly.toml", "--resume")
    first = typed(tmp_path, *argv).ok()
    assert "starting a new one" in first.err
    (folder,) = (tmp_path / "outputs" / "suites" / "nightly").iterdir()
    assert f"Saved in {folder.relative_to(tmp_path)}" in first.err
    calls = len(model.calls)
    typed(tmp_path, *argv).ok()
    assert len(model.calls) == calls


def test_a_missing_file_ends_with_6(prime: Prime, tmp_path: Path) -> None:
    assert prime("eval", "run", "none.toml", cwd=tmp_path).code == 6


def test_without_a_suite_there_is_no_leaderboard(prime: Prime, tmp_path: Path) -> None:
    result = prime("eval", "leaderboard", cwd=tmp_path)
    assert result.code == 6
    assert "prime eval run SUITE.toml" in result.err


def test_the_first_try_of_a_failed_suite_is_kept(prime: Prime, tmp_path: Path) -> None:
    suite(tmp_path, '[[eval]]\nid = "nobody/nothing"\nmodel = "builtin/oracle"')
    assert prime("eval", "run", "nightly.toml", cwd=tmp_path).code == 3
    (folder,) = (tmp_path / "outputs" / "suites" / "nightly").iterdir()
    record = json.loads((folder / "suite.json").read_bytes())
    assert record["status"] == "failed"
    again = prime("eval", "run", "nightly.toml", "--resume", folder.name[:5], cwd=tmp_path)
    assert again.code == 3
