"""`prime pods list --watch` where there is no terminal: one line for each change."""

import os
import signal
import subprocess
import sys
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


@pytest.mark.skipif(sys.platform == "win32", reason="is ended by SIGINT")
@pytest.mark.parametrize(
    ("mode", "lines"),
    [
        ("table", ("web is PROVISIONING", "web is ACTIVE", "web is TERMINATED")),
        ("plain", ("\tPROVISIONING\t", "\tACTIVE\t", "\tTERMINATED\t")),
        ("jsonl", ('"status": "PROVISIONING"', '"status": "ACTIVE"', '"status": "TERMINATED"')),
    ],
)
def test_every_change_is_a_line_until_ctrl_c(
    mode: str, lines: tuple[str, str, str], tmp_path: Path
) -> None:
    present = [dict(POD)]
    with ScriptedHub() as hub:
        hub.answers["GET /pods"] = lambda _: Reply({"data": present, "total_count": len(present)})
        watching = subprocess.Popen(
            [*COMMAND, "pods", "list", "--watch", "--output", mode],
            cwd=tmp_path,
            env={**os.environ, "PRIME_API_BASE_URL": hub.url, "PRIME_API_KEY": "prime_sk_1"},
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )
        with watching:
            assert watching.stdout is not None
            assert lines[0] in watching.stdout.readline()
            present[0] |= {"status": "ACTIVE", "installationStatus": "FINISHED"}
            assert lines[1] in watching.stdout.readline()
            present.clear()
            assert lines[2] in watching.stdout.readline()
            watching.send_signal(signal.SIGINT)
            assert watching.stdout.read() == ""
        assert watching.returncode == 130
