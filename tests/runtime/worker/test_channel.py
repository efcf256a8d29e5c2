"""Events are written to a parent that may be gone at any moment."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

ORPHAN = """
import os, subprocess
from prime_cli.runtime.worker.channel import Events

reading, writing = os.pipe()
child = subprocess.Popen(["sleep", "60"], stdout=subprocess.DEVNULL)
print(child.pid, flush=True)
os.close(reading)
Events(writing).log("nobody reads this")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_an_unread_event_ends_the_process_and_its_children() -> None:
    root = Path(__file__).parents[3]
    ended = subprocess.run(
        [sys.executable, "-c", ORPHAN],
        check=False,
        capture_output=True,
        encoding="utf-8",
        cwd=root,
        start_new_session=True,
        timeout=60,
    )
    assert ended.returncode != 0
    child = Path(f"/proc/{int(ended.stdout)}/stat")
    end = time.monotonic() + 60
    while os.path.lexists(child) and child.read_text(encoding="ascii").split()[2] != "Z":
        assert time.monotonic() < end
        time.sleep(0.05)
