import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers.cli import COMMAND, Prime
from tests.helpers.wild import write_project
from tests.runs.rows import row
from tests.runs.saving import save_run


def save(cwd: Path, rewards: str) -> str:
    """A run with a rollout for each letter: 1, 0, or x for an error; its id."""
    rows = (row(i, 0, None if c == "x" else float(c)) for i, c in enumerate(rewards))
    return save_run(cwd, *rows).run_id


def test_a_run_that_keeps_its_limits_ends_with_0(prime: Prime, tmp_path: Path) -> None:
    before, now = save(tmp_path, "1100"), save(tmp_path, "1101")
    flags = ("--fail-under", "0.75", "--baseline", before, "--max-drop", "0", "--output", "json")
    shown = prime("eval", "gate", now, *flags, cwd=tmp_path).ok().json
    assert shown["passed"] is True
    assert [(each["gate"], each["passed"]) for each in shown["gates"]] == [
        ("fail-under", True),
        ("max-drop", True),
    ]
    assert shown["comparison"]["difference"] == 0.25


def test_a_missed_gate_ends_with_1_and_says_by_how_much(prime: Prime, tmp_path: Path) -> None:
    run = save(tmp_path, "1100")
    result = prime("eval", "gate", run, "--fail-under", "0.75", cwd=tmp_path)
    assert result.code == 1
    assert "fail-under missed: the mean reward 0.5 is below 0.75" in result.err
    assert f"Run {run} missed its gate: fail-under" in result.err


def test_a_missing_limit_is_reported(prime: Prime, tmp_path: Path) -> None:
    save_run(tmp_path, row(0))
    told = prime("eval", "gate", cwd=tmp_path).ok().err
    assert "no limit was given" in told
    assert "--fail-under" in told


def test_errors_above_the_limit_beat_a_missed_gate(prime: Prime, tmp_path: Path) -> None:
    run = save(tmp_path, "10x0")
    flags = ("--fail-under", "0.75")
    assert prime("eval", "gate", run, *flags, cwd=tmp_path).code == 3
    assert prime("eval", "gate", run, *flags, "--max-error-rate", "0.5", cwd=tmp_path).code == 1


def test_a_run_that_was_interrupted_passes_no_gate(prime: Prime, tmp_path: Path) -> None:
    run = save_run(tmp_path, row(0), status="interrupted").run_id
    result = prime("eval", "gate", run, "--fail-under", "0.5", "--output", "json", cwd=tmp_path)
    assert result.code == 3
    assert result.json["passed"] is False
    assert f"Run {run} is interrupted: 1 of 4 rollouts are done" in result.err


def test_reports_are_written_whether_gates_are_missed_or_not(prime: Prime, tmp_path: Path) -> None:
    run = save(tmp_path, "10")
    summary = tmp_path / "summary.md"
    result = prime(
        "eval", "gate", run, "--fail-under", "0.9", "--junit", "reports/junit.xml",
        cwd=tmp_path, env={"GITHUB_STEP_SUMMARY": str(summary)},
    )  # fmt: skip
    assert result.code == 1
    assert 'failures="2"' in (tmp_path / "reports" / "junit.xml").read_text(encoding="utf-8")
    assert "| Gate fail-under | missed" in summary.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("flags", "code"),
    [
        (("--max-drop", "0.1"), 2),
        (("--baseline", "zz"), 2),
        (("--baseline", "zz", "--max-drop", "0.1"), 6),
        (("--github-summary",), 2),
    ],
)
def test_limits_are_read_before_a_run_costs_anything(
    flags: tuple[str, ...], code: int, prime: Prime, tmp_path: Path
) -> None:
    write_project(tmp_path)
    save(tmp_path / "saved", "1")
    for command in (("gate",), ("run", "tiny-env", "-m", "builtin/oracle")):
        assert prime("eval", *command, *flags, cwd=tmp_path).code == code
    assert not (tmp_path / "outputs").exists()


def test_a_gate_without_a_baseline_needs_no_scipy(tmp_path: Path) -> None:
    run = save(tmp_path, "1")
    probe = f"import sys; sys.modules['scipy'] = None; {COMMAND[2]}"
    done = subprocess.run(
        [sys.executable, "-c", probe, "eval", "gate", run, "--fail-under", "1"],
        cwd=tmp_path, env=os.environ.copy(), capture_output=True, text=True, encoding="utf-8",
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
