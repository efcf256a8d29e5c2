from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from prime_cli.evals.gate.reports import append_summary, summary_markdown, write_junit
from prime_cli.evals.gate.thresholds import GateResult, ThresholdResult, Thresholds, judge
from prime_cli.runs.comparison.sides import side_of
from prime_cli.runs.rows import Failure, Row
from prime_cli.runs.saved_run import open_run
from tests.runs.rows import row
from tests.runs.saving import save_run


def report(
    folder: Path,
    *rows: Row,
    fail_under: float | None = None,
    gates: tuple[ThresholdResult, ...] = (),
) -> ET.Element:
    run = open_run(save_run(folder, *rows).path)
    path = folder / "report.xml"
    write_junit(path, run.summary(), run.rows(), gates, fail_under=fail_under)
    return ET.parse(path).getroot()


def counts(element: ET.Element) -> tuple[str | None, ...]:
    return tuple(element.get(name) for name in ("tests", "failures", "errors"))


def test_every_example_is_a_case_and_failures_are_not_errors(tmp_path: Path) -> None:
    rows = (row(0, 0, 1.0), row(0, 1, 0.0), row(1, 0, 0.0), row(2, 0, 1.0), row(2, 1, None))
    root = report(tmp_path, *rows)
    (suite,) = root
    assert counts(root) == counts(suite) == ("3", "1", "1")
    passed, failed, errored = suite.findall("testcase")
    assert len(passed) == 0
    assert (failed.get("name"), failed[0].tag) == ("example 1", "failure")
    assert (errored[0].tag, errored[0].get("type")) == ("error", "infra.APITimeoutError")
    assert errored[0].get("message") == "1 of 2 rollouts ended in an error"
    assert "rollout 1: infra error APITimeoutError: Request timed out" in (errored[0].text or "")


def test_the_limit_of_the_mean_is_that_of_an_example(tmp_path: Path) -> None:
    root = report(tmp_path, row(0, 0, 0.4), row(1, 0, 0.6), fail_under=0.5)
    assert counts(root) == ("2", "1", "0")
    assert root[0][0][0].get("message") == "mean reward 0.4 is below 0.5"


def test_gates_are_cases_of_their_own(tmp_path: Path) -> None:
    gates = (
        ThresholdResult("fail-under", False, "the mean is <low>"),
        ThresholdResult("max-drop", True, "well"),
    )
    root = report(tmp_path, row(0), gates=gates)
    assert counts(root) == ("3", "1", "0")
    assert root[1].get("name") == "gates"
    assert root[1][0][0].text == "the mean is <low>"


def test_time_is_that_of_the_rollouts(tmp_path: Path) -> None:
    rows = (row(0, 0, timing={"total": 1.25}), row(0, 1, timing={"total": 0.5}))
    assert report(tmp_path, *rows)[0][0].get("time") == "1.750"


@settings(
    max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)
@given(st.text())
@pytest.mark.parametrize("start", ["", "\x00\x1b[31m ]]> <![CDATA[ & \ud800 \uffff "])
def test_whatever_an_environment_raises_is_valid_xml(start: str, tmp_path: Path, text: str) -> None:
    message = (start + text).encode("utf-8", "replace").decode()
    failure = Failure("environment", message, message)
    root = report(tmp_path, row(0, 0, None, error=failure))
    shown = root[0][0][0].text or ""
    assert "\x00" not in shown
    assert "example 0" in shown


def test_figures_gates_and_flips_are_reported(tmp_path: Path) -> None:
    before = open_run(save_run(tmp_path, row(0, 0, 1.0), row(1, 0, 1.0)).path)
    now = open_run(save_run(tmp_path, row(0, 0, 0.0), row(1, 0, 1.0), row(2, 0, None)).path)
    limits = Thresholds(fail_under=0.9, max_drop=0.6, baseline=side_of(before))
    told = summary_markdown(now.summary(), judge(now, now.summary(), limits))
    assert "| Reward | 0.5" in told
    assert "| Rollouts | 4 planned, 2 scored, 1 errored |" in told
    assert "| Gate fail-under | missed: the mean reward 0.5 is below 0.9 |" in told
    assert "| Gate max-drop | passed: " in told
    assert "| 0 | 1 | 0 |" in told


def test_what_others_wrote_cannot_leave_its_cell(tmp_path: Path) -> None:
    run = open_run(save_run(tmp_path, row(0)).path)
    text = "a | b\n| c | <img src=x> `code` @everyone \\| [link](x)"
    told = summary_markdown(run.summary(), GateResult([ThresholdResult("fail-under", False, text)]))
    (line,) = [line for line in told.splitlines() if "fail-under" in line]
    assert line.replace("\\\\", "").replace("\\|", "").count("|") == 3
    assert "<img" not in told
    assert "\\`code\\`" in told


def test_a_summary_is_appended_to_what_the_step_wrote(tmp_path: Path) -> None:
    run = open_run(save_run(tmp_path, row(0)).path)
    path = tmp_path / "summary.md"
    path.write_text("before\n", encoding="utf-8")
    append_summary(path, run.summary(), GateResult([]))
    text = path.read_text(encoding="utf-8")
    assert text.startswith("before\n")
    assert "org/model" in text
