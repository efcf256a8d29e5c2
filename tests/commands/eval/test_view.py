import os
import pty
import select
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.helpers.cli import COMMAND, Prime
from tests.runs.rows import row
from tests.runs.saving import save_run


@pytest.mark.parametrize("name", ["view", "tui"])
def test_without_a_terminal_the_commands_for_text_are_named(
    name: str, prime: Prime, tmp_path: Path
) -> None:
    folder = save_run(tmp_path, row(0))
    whole = prime("eval", name, cwd=tmp_path)
    assert whole.code == 2
    assert "needs a terminal" in whole.err
    assert "`prime eval list`" in whole.err
    one = prime("eval", name, folder.run_id, cwd=tmp_path)
    assert f"`prime eval show {folder.run_id}`" in one.err
    two = prime("eval", name, folder.run_id, "x", cwd=tmp_path)
    assert f"`prime eval compare {folder.run_id} x`" in two.err


@pytest.mark.skipif(sys.platform == "win32", reason="has no pseudo terminals")
@pytest.mark.parametrize(
    ("runs", "seen"), [(0, "by environment and model"), (1, "reward 1"), (2, "B - A")]
)
def test_on_a_terminal_runs_are_shown_until_q_is_pressed(
    runs: int, seen: str, tmp_path: Path
) -> None:
    ids = [save_run(tmp_path, row(0)).run_id for _ in range(2)]
    code, screen = on_terminal(["eval", "view", *ids[:runs]], tmp_path, seen)
    assert code == 0
    assert seen in screen


@pytest.mark.skipif(sys.platform == "win32", reason="has no pseudo terminals")
def test_on_a_terminal_a_missing_run_is_reported_as_elsewhere(tmp_path: Path) -> None:
    code, screen = on_terminal(["eval", "view", "nothing"], tmp_path, "No local run `nothing`")
    assert code == 6
    assert "prime eval list" in screen


def on_terminal(words: list[str], cwd: Path, wanted: str) -> tuple[int, str]:
    """Run prime on a pseudo terminal, press q when `wanted` is on it; exit code and output."""
    ours, theirs = pty.openpty()
    environ = {**os.environ, "TERM": "xterm-256color", "LINES": "24", "COLUMNS": "80"}
    with subprocess.Popen(
        [*COMMAND, *words], cwd=cwd, env=environ, stdin=theirs, stdout=theirs, stderr=theirs
    ) as process:
        os.close(theirs)
        screen, until = "", time.monotonic() + 120
        while wanted not in screen and time.monotonic() < until:
            screen += _read(ours)
        if process.poll() is None:
            os.write(ours, b"q")
        while process.poll() is None and time.monotonic() < until:
            screen += _read(ours)
        if process.poll() is None:
            process.kill()
    os.close(ours)
    return process.returncode, screen


def _read(descriptor: int) -> str:
    if not select.select([descriptor], [], [], 0.2)[0]:
        return ""
    try:
        return os.read(descriptor, 65536).decode("utf-8", "replace")
    except OSError:  # Linux: the other end is closed
        return ""
