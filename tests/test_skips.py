"""What a run of tests says of those that it skipped, and how they are run elsewhere."""

import os
import subprocess
import sys
from pathlib import Path

from tests.helpers.skips import SKIPPED

CONFTEST = """
from tests.helpers.skips import show_skips

def pytest_terminal_summary(terminalreporter):
    show_skips(terminalreporter)
"""
CASES = """
import os
import pytest

needs_bell = pytest.mark.skipif("BELL" not in os.environ, reason="bell is not on this machine")

@needs_bell
@pytest.mark.parametrize("text", ["a b", "[::]"])
def test_with(text):
    pass

def test_asked_for_within():
    pytest.skip("whistle is not on this machine")

def test_without():
    pass
"""


def run_pytest(folder: Path, *words: str, **variables: str) -> list[str]:
    (folder / "conftest.py").write_text(CONFTEST, encoding="utf-8")
    (folder / "test_cases.py").write_text(CASES, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-c", os.devnull, "--rootdir", str(folder), *words],
        cwd=folder,
        env=os.environ
        | {"PYTHONPATH": str(Path(__file__).parents[1]), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
        | variables,
        check=True,
        capture_output=True,
        encoding="utf-8",
    )
    return done.stdout.splitlines()


def test_skips_are_counted_by_reason_in_the_last_lines(tmp_path: Path) -> None:
    assert run_pytest(tmp_path)[-3:-1] == [
        "2 skipped: bell is not on this machine",
        "1 skipped: whistle is not on this machine",
    ]


def test_what_was_skipped_runs_where_its_program_is(tmp_path: Path) -> None:
    kept = tmp_path / "skipped"
    run_pytest(tmp_path, **{SKIPPED: str(kept)})
    assert len(kept.read_text(encoding="utf-8").splitlines()) == 3
    assert "2 passed, 1 skipped" in run_pytest(tmp_path, f"@{kept}", BELL="1")[-1]
