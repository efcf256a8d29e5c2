"""Programs for the interpreter that has the engine; each prints lines of JSON."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

PROGRAMS = Path(__file__).parent


def run(trl: dict[str, Any], program: str, *argv: str | Path) -> list[Any]:
    """What `program` prints, run by the interpreter of `trl`."""
    done = subprocess.run(
        [trl["python"], PROGRAMS / program, *argv],
        env={**os.environ, "PYTHONPATH": str(trl["engine"])},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return [json.loads(line) for line in done.stdout.splitlines()]
