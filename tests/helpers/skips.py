"""What a run skipped: counted by reason in its last lines, and kept as a list to run elsewhere.

With `PRIME_TEST_SKIPPED=FILE` the node ids are written to FILE, one a line, as `pytest @FILE` reads
them: `.ci/run` runs README's command where there are no programs, and then these tests where there
are.
"""

import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

SKIPPED = "PRIME_TEST_SKIPPED"


def show_skips(terminal: pytest.TerminalReporter) -> None:
    """Print how many tests were skipped for which reason, the commonest first; keep their ids."""
    reports = terminal.getreports("skipped")
    for reason, count in count_reasons(reports):
        terminal.write_line(f"{count} skipped: {reason}")
    if file := os.environ.get(SKIPPED):
        Path(file).write_text("".join(f"{each.nodeid}\n" for each in reports), encoding="utf-8")


def count_reasons(
    reports: Sequence[pytest.TestReport | pytest.CollectReport],
) -> list[tuple[str, int]]:
    return Counter(map(_reason, reports)).most_common()


def _reason(report: pytest.TestReport | pytest.CollectReport) -> str:
    """A skipped report has the file, the line, and `Skipped: REASON`."""
    where = report.longrepr
    text = where[2] if isinstance(where, tuple) else str(where)
    return text.removeprefix("Skipped: ")
