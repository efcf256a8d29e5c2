from pathlib import Path

import pytest

from prime_cli.core.errors import UsageError
from prime_cli.evals.comparison.sides import side_of
from prime_cli.evals.gate.github import append_summary, summary_file, summary_markdown
from prime_cli.evals.gate.thresholds import Judgement, Limits, Outcome, judge
from prime_cli.runs.saved_run import open_run
from tests.runs.rows import row
from tests.runs.saving import save_run


def test_it_is_on_where_github_names_a_file() -> None:
    named = {"GITHUB_STEP_SUMMARY": "/tmp/summary"}
    assert summary_file(None, named) == summary_file(True, named) == Path("/tmp/summary")
    assert summary_file(False, named) is None
    assert summary_file(None, {}) is None
    with pytest.raises(UsageError, match="GITHUB_STEP_SUMMARY"):
        summary_file(True, {})


def test_figures_gates_and_flips_are_told(tmp_path: Path) -> None:
    before = open_run(save_run(tmp_path, row(0, 0, 1.0), row(1, 0, 1.0)).path)
    now = open_run(save_run(tmp_path, row(0, 0, 0.0), row(1, 0, 1.0), row(2, 0, None)).path)
    limits = Limits(fail_under=0.9, max_drop=0.6, baseline=side_of(before))
    told = summary_markdown(now.summary(), judge(now, now.summary(), limits))
    assert "| Reward | 0.5" in told
    assert "| Rollouts | 4 planned, 2 scored, 1 errored |" in told
    assert "| Gate fail-under | missed: the mean reward 0.5 is below 0.9 |" in told
    assert "| Gate max-drop | passed: " in told
    assert "| 0 | 1.000 | 0.000 |" in told


def test_what_others_wrote_cannot_leave_its_cell(tmp_path: Path) -> None:
    run = open_run(save_run(tmp_path, row(0)).path)
    text = "a | b\n| c | <img src=x> `code` @everyone \\| [link](x)"
    told = summary_markdown(run.summary(), Judgement([Outcome("fail-under", False, text)]))
    (line,) = [line for line in told.splitlines() if "fail-under" in line]
    assert line.replace("\\\\", "").replace("\\|", "").count("|") == 3
    assert "<img" not in told
    assert "\\`code\\`" in told


def test_a_summary_is_appended_to_what_the_step_wrote(tmp_path: Path) -> None:
    run = open_run(save_run(tmp_path, row(0)).path)
    path = tmp_path / "summary.md"
    path.write_text("before\n", encoding="utf-8")
    append_summary(path, run.summary(), Judgement([]))
    text = path.read_text(encoding="utf-8")
    assert text.startswith("before\n")
    assert "org/model" in text
