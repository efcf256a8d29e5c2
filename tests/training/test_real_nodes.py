"""Two nodes train by TRL on a CPU, on two addresses of this machine."""

import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from prime_cli.core.errors import EngineFailed
from prime_cli.runs.folder import RunFolder
from prime_cli.training.nodes import WAITING, FirstNode
from tests.helpers.environments import small_interpreter
from tests.helpers.seed import runs_every_case
from tests.helpers.training import train_scripted
from tests.training.test_real_training import PLAN, VOWELS, _of, _steps

pytestmark = [
    pytest.mark.slow,
    pytest.mark.network,
    pytest.mark.skipif(sys.platform != "linux", reason="others have 127.0.0.1 alone"),
]
FIRST = FirstNode("127.0.0.1")


class OtherNode(threading.Thread):
    """Joins the training in `parent` once that waits; is killed after a step, if that is given."""

    def __init__(self, parent: Path, home: Path, python: Path, *, kill_after: int = 0) -> None:
        super().__init__(daemon=True)
        self._parent, self._home, self._python = parent, home, python
        self._kill_after = kill_after
        self.code: int | None = None
        self.said = ""
        self.start()

    def run(self) -> None:
        waiting = self._until(lambda: list(self._parent.glob(f"*/{WAITING}")))
        if not waiting:
            return
        folder = waiting[0].parent
        words = ["train", "--join", str(folder), "--address", "127.0.0.2"]
        words += ["--engine-python", str(self._python)]
        with subprocess.Popen(
            [sys.executable, "-m", "prime_cli", *words],
            env={**os.environ, "PRIME_HOME": str(self._home), "HOME": str(self._home)},
            stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            encoding="utf-8",
        ) as process:
            if self._kill_after:
                metrics = folder / "metrics.jsonl"
                self._until(lambda: metrics.is_file() and len(_steps(folder)) >= self._kill_after)
                process.kill()
            _, self.said = process.communicate(timeout=300)
            self.code = process.returncode

    def _until(self, found: Any) -> Any:
        deadline = time.monotonic() + 300
        while time.monotonic() < deadline:
            if there := found():
                return there
            time.sleep(0.05)
        return None


def test_two_nodes_train_as_two_processes_of_one_do(tmp_path: Path, trl: dict[str, Any]) -> None:
    interpreter = small_interpreter(tmp_path, VOWELS)
    plan: dict[str, Any] = {**PLAN, **trl, "steps": 3}
    alone = train_scripted(interpreter, tmp_path / "alone", processes=2, **plan)
    other = OtherNode(tmp_path / "together", tmp_path / "home", trl["python"])
    together = train_scripted(interpreter, tmp_path / "together", first=FIRST, nodes=2, **plan)
    other.join()
    assert other.code == 0, other.said
    for one, two in zip(_steps(alone.folder), _steps(together.folder), strict=True):
        assert _of(two) == pytest.approx(_of(one), rel=1e-3, abs=1e-4)


@pytest.mark.skipif(not runs_every_case(), reason="a minute longer; PRIME_TEST_ALL=1 runs it")
def test_when_a_node_is_killed_all_end_and_resume(tmp_path: Path, trl: dict[str, Any]) -> None:
    interpreter = small_interpreter(tmp_path, VOWELS)
    # So many that the kill after the third comes before the last.
    plan: dict[str, Any] = {**PLAN, **trl, "steps": 40, "save_every": 2}
    together, home = tmp_path / "together", tmp_path / "home"
    killed = OtherNode(together, home, trl["python"], kill_after=3)
    with pytest.raises(EngineFailed) as failed:
        train_scripted(interpreter, together, first=FIRST, nodes=2, **plan)
    killed.join()
    assert failed.value.message.startswith("Node 2 of the 2 that train")
    assert "checkpoints/" in (failed.value.hint or "")
    (folder,) = together.iterdir()
    assert not list(folder.glob(".meeting-*"))

    other = OtherNode(together, home, trl["python"])
    train_scripted(interpreter, together, resumed=RunFolder(folder), first=FIRST, nodes=2, **plan)
    other.join()
    assert other.code == 0, other.said
    assert len(_steps(folder)) == 40
