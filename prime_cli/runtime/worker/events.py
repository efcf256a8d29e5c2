"""Events for the parent: one JSON object a line on a descriptor of their own."""

import json
import os
import threading
from typing import Any

from .descendants import kill_group
from .plain import plain

# The parent reads lines of at most 64 MiB; what is longer loses its bulkiest parts first.
LONGEST_LINE = 48 * 1024 * 1024
BULKY = ("state", "info", "prompt", "completion")


class Events:
    """Writes whole lines, from any thread. A parent that is gone ends this process and
    what it started.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._lock = threading.Lock()
        os.set_inheritable(descriptor, False)  # noqa: FBT003

    def send(self, kind: str, **fields: Any) -> None:
        line = encode(dict(fields, t=kind))
        for name in BULKY:
            if len(line) <= LONGEST_LINE:
                break
            if name in fields:
                fields[name] = {} if name == "state" else None
                self.send("log", text=f"a rollout's {name} was too long to keep")
                line = encode(dict(fields, t=kind))
        with self._lock:
            self._write(memoryview(line))

    def log(self, text: str) -> None:
        self.send("log", text=text)

    def _write(self, rest: memoryview) -> None:
        try:
            while rest:
                rest = rest[os.write(self._descriptor, rest) :]
        except BrokenPipeError:
            kill_group()


def encode(event: dict[str, Any]) -> bytes:
    # ensure_ascii would write a lone surrogate as an escape that strict readers refuse.
    text = json.dumps(plain(event), ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "replace") + b"\n"
