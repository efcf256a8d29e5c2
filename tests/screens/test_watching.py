"""What the tests of this folder see: what was drawn whole, however it arrives."""

import sys
from pathlib import Path

import pytest

from tests.helpers.terminal import Terminal
from tests.screens.watching import lines

IN_PARTS = """
import sys, time
for part in ("Reading ", "files 0:01", "\\r\\x1b[2K", "Writing ", "files 0:02\\r\\x1b[2K"):
    sys.stdout.write(part)
    sys.stdout.flush()
    time.sleep(0.1)
"""


@pytest.mark.usefixtures("needs_terminal")
def test_a_line_that_arrives_in_parts_was_shown_whole(tmp_path: Path) -> None:
    with Terminal("-c", IN_PARTS, cwd=tmp_path, program=(sys.executable,)) as terminal:
        assert terminal.end() == 0, terminal.text
    assert lines(terminal) == {"Reading files 0:01", "Writing files 0:02"}
