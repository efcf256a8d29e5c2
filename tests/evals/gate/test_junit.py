from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from prime_cli.evals.gate.junit import write_junit
from prime_cli.evals.gate.thresholds import Outcome
from prime_cli.runs.rows import Failure, Row
from prime_cli.runs.saved_run import open_run
from tests.runs.rows import row
from tests.runs.saving import save_run


def report(
    folder: Path, *rows: Row, fail_under: float | None = None, gates: tuple[Outcome, ...] = ()
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
    gates = (Outcome("fail-under", False, "the mean is <low>"), Outcome("max-drop", True, "well"))
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
