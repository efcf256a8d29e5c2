"""Folders of workers on nodes."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from prime_cli.evals.ray.node_folders import node_folder

HOLD = """
import sys
from prime_cli.evals.ray.node_folders import node_folder
with node_folder() as folder:
    print(folder, flush=True)
    sys.stdin.read()
"""


def test_the_folder_of_a_worker_that_was_killed_goes_with_the_next_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    worker = subprocess.Popen(
        [sys.executable, "-c", HOLD],
        env={**os.environ, "TMPDIR": str(tmp_path)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    )
    assert worker.stdout is not None
    left = Path(worker.stdout.readline().strip())
    os.utime(left, (0, 0))
    with node_folder() as own:
        assert {left, own} == set(tmp_path.iterdir())  # both are in use
    worker.kill()
    worker.communicate()
    just_made = tmp_path / "prime-ray-new"
    just_made.mkdir()

    with node_folder() as own:
        assert {own, just_made} == set(tmp_path.iterdir())
    assert [*tmp_path.iterdir()] == [just_made]
