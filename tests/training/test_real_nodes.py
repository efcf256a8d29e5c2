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
            text=True,
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


def test_two_nodes_train_as_one_does_and_end_together(tmp_path: Path, trl: dict[str, Any]) -> None:
    interpreter = small_interpreter(tmp_path, VOWELS)
    plan: dict[str, Any] = {**PLAN, **trl, "steps": 4, "save_every": 2}
    alone = train_scripted(interpreter, tmp_path / "alone", **plan)

    together, home = tmp_path / "together", tmp_path / "home"
    killed = OtherNode(together, home, trl["python"], kill_after=3)
    with pytest.raises(EngineFailed) as failed:
        train_scripted(interpreter, together, first=FIRST, nodes=2, **plan)
    killed.join(60)
    assert failed.value.message.startswith("Node 2 of the 2 that train")
    assert "checkpoints/2" in (failed.value.hint or "")
    (folder,) = together.iterdir()
    assert not list(folder.glob(".meeting-*"))

    other = OtherNode(together, home, trl["python"])
    again = RunFolder(folder)
    train_scripted(interpreter, together, resumed=again, first=FIRST, nodes=2, **plan)
    other.join(60)
    assert other.code == 0, other.said
    assert len(_steps(folder)) == 4
    for one, two in zip(_steps(alone.folder), _steps(folder), strict=True):
        assert _of(two) == pytest.approx(_of(one), rel=1e-3, abs=1e-4)
        assert two["rollouts"] == 64
