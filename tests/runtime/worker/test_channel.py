"""Events are written to a parent that may be gone at any moment."""

import json
import os
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from prime_cli.runtime.worker.channel import LONGEST_LINE, Events

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
    # It may be gone between any two looks at it.
    with suppress(FileNotFoundError, ProcessLookupError):
        while child.read_text(encoding="ascii").split()[2] != "Z":
            assert time.monotonic() < end
            time.sleep(0.05)


def sent(tmp_path: Path, kind: str, **fields: Any) -> list[dict[str, Any]]:
    """The events that the parent gets."""
    path = tmp_path / "events"
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    Events(descriptor).send(kind, **fields)
    os.close(descriptor)
    return [json.loads(line) for line in path.read_bytes().splitlines()]


SMALL: dict[str, Any] = {
    "state": {"s": 1},
    "metrics": {"m": 1.0},
    "timing": {"t": 1.0},
    "prompt": "p",
    "completion": "c",
    "answer": "a",
    "info": {"i": 1},
    "task": "k",
    "stop_condition": "x",
    "reward": 0.5,
}


@pytest.mark.parametrize("name", [name for name in SMALL if name != "reward"])
def test_a_rollout_that_is_too_long_loses_its_largest_field_alone(
    tmp_path: Path, name: str
) -> None:
    long = "é" * (LONGEST_LINE // 2)
    value = {long: 1.0} if isinstance(SMALL[name], dict) else long
    log, row = sent(tmp_path, "rollout", **(SMALL | {name: value}))
    told = f"A rollout is too long to keep whole: its {name}, 48 MiB, is left out"
    assert log == {"t": "log", "text": told}
    left: dict[str, Any] | None = {} if name in ("state", "metrics", "timing") else None
    assert row == SMALL | {name: left, "t": "rollout"}


def test_a_rollout_loses_no_more_than_it_must(tmp_path: Path) -> None:
    half = "x" * (LONGEST_LINE // 2)
    fields = SMALL | {"prompt": half, "answer": half + "x" * 99}
    *logs, row = sent(tmp_path, "rollout", **fields)
    assert len(logs) == 1
    assert row == fields | {"answer": None, "t": "rollout"}
