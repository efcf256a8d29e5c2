"""How many files of prime one evaluation passes through, so that it stays one that can be read."""

from pathlib import Path

import pytest

from tests.helpers.cli import Prime
from tests.helpers.walk import walking
from tests.helpers.wild import write_project

MOST_FILES = 106
"""Of the process that is typed; the worker's are another walk. 118 before they were counted."""


@pytest.mark.slow
def test_an_evaluation_passes_through_few_files(prime: Prime, tmp_path: Path) -> None:
    write_project(tmp_path)
    argv = ("eval", "run", ".", "-m", "builtin/oracle", "-n", "2", "-r", "1")
    prime(*argv, cwd=tmp_path).ok()  # makes the interpreter
    with walking() as walk:
        prime(*argv, "--new", cwd=tmp_path).ok()
    assert len(walk.files) <= MOST_FILES, "\n".join(walk.lines())
