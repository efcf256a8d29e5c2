"""What the options of a run ask for beside the evaluation."""

from pathlib import Path

import pytest

from prime_cli.commands.eval.run_options import ReportOptions
from prime_cli.core.errors import UsageError


def test_the_summary_is_on_where_github_names_a_file() -> None:
    named, path = {"GITHUB_STEP_SUMMARY": "/tmp/summary"}, Path("/tmp/summary")
    for wanted, file in ((None, path), (True, path), (False, None)):
        assert ReportOptions(github_summary=wanted).summary_file(named) == file
    assert ReportOptions().summary_file({}) is None
    with pytest.raises(UsageError, match="GITHUB_STEP_SUMMARY"):
        ReportOptions(github_summary=True).summary_file({})
