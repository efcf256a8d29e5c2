"""What this SkyPilot knows: `world.json` beside its interpreter, which tests write and read."""

import json
import os
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

_FILE = Path(sys.prefix) / "world.json"
_CALLS = Path(sys.prefix) / "calls.jsonl"
_SECONDS = 60.0


def read() -> dict[str, Any]:
    return dict(json.loads(_FILE.read_text(encoding="utf-8")))


def change(**changes: Any) -> None:
    temporary = _FILE.with_name(f"world.{os.getpid()}")
    temporary.write_bytes(json.dumps({**read(), **changes}).encode())
    temporary.replace(_FILE)


def note(call: str, **words: Any) -> None:
    with _CALLS.open("ab") as file:
        file.write(json.dumps({"call": call, **words}, default=str).encode() + b"\n")


def clusters() -> dict[str, str]:
    return dict(read()["clusters"])


def launch(name: str) -> tuple[int, None]:
    """As the launch of a cluster goes: it waits while `launch` is `hold`."""
    change(clusters={**clusters(), name: "INIT"})
    deadline = time.monotonic() + _SECONDS
    while (how := read()["launch"]) == "hold" and time.monotonic() < deadline:
        if name in read()["cancelled"]:
            raise RuntimeError("The request was cancelled")
        time.sleep(0.02)
    if how == "fail":
        raise RuntimeError("No machine is left of this kind\nTry another region")
    change(clusters={**clusters(), name: "UP"})
    sys.stdout.write("\x1b[32mCluster launched\x1b[0m\n")
    return 1, None


def offers(cloud: str) -> dict[str, list[SimpleNamespace]]:
    if trouble := read()["troubles"].get(cloud):
        raise RuntimeError(trouble)
    found = read()["accelerators"].get(cloud, {})
    return {name: [SimpleNamespace(**row) for row in rows] for name, rows in found.items()}
