"""`prime pods list --watch` where there is no terminal: one line for each change."""

import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.cli import COMMAND
from tests.helpers.scripted_hub import Reply, ScriptedHub

POD: dict[str, Any] = {
    "id": "1f2e3d4c5b6a",
    "name": "web",
    "gpuName": "A100_80GB",
    "gpuCount": 1,
    "status": "PROVISIONING",
    "createdAt": "2026-11-21T12:00:00Z",
    "priceHr": 1.65,
}


LINES = {
    "table": ("web is PROVISIONING", "web is ACTIVE", "web is TERMINATED"),
    "plain": ("\tPROVISIONING\t", "\tACTIVE\t", "\tTERMINATED\t"),
    "jsonl": ('"status": "PROVISIONING"', '"status": "ACTIVE"', '"status": "TERMINATED"'),
}


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="is ended by SIGINT")
def test_every_change_is_a_line_until_ctrl_c(tmp_path: Path) -> None:
    """In all forms at once, since each waits for seconds between two looks."""
    present = [dict(POD)]
    with ScriptedHub() as hub, ExitStack() as stack:
        hub.answers["GET /pods/"] = lambda _: Reply({"data": present, "total_count": len(present)})
        watchers = {mode: stack.enter_context(_watch(hub, mode, tmp_path)) for mode in LINES}
        for watching in watchers.values():
            stack.callback(watching.kill)
        _expect(watchers, 0)
        present[0] |= {"status": "ACTIVE", "installationStatus": "FINISHED"}
        _expect(watchers, 1)
        present.clear()
        _expect(watchers, 2)
        for watching in watchers.values():
            watching.send_signal(signal.SIGINT)
            assert watching.stdout is not None
            assert watching.stdout.read() == ""
            assert watching.wait() == 130


def _watch(hub: ScriptedHub, mode: str, folder: Path) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [*COMMAND, "pods", "list", "--watch", "--output", mode],
        cwd=folder,
        env={**os.environ, "PRIME_API_BASE_URL": hub.url, "PRIME_API_KEY": "prime_sk_1"},
        stdout=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    )


def _expect(watchers: Mapping[str, "subprocess.Popen[str]"], number: int) -> None:
    """The next line of each says what its form says for the change of this number."""
    for mode, watching in watchers.items():
        assert watching.stdout is not None
        assert LINES[mode][number] in watching.stdout.readline()
