"""The parent's end of the line: stdin. Its first line is the spec, and its end is our end."""

import asyncio
import json
import sys
import threading
from collections.abc import Callable
from typing import Any

from .descendants import kill_group
from .spec import Spec, from_message

OnMessage = Callable[[dict[str, Any]], None]


class Control:
    """Reads stdin in a thread, so that even an environment that blocks the event loop is ended
    when the parent is gone. Messages are handed to `on_message` in the event loop.
    """

    def __init__(self) -> None:
        self._stdin = sys.stdin.buffer
        self._waiting: list[dict[str, Any]] = []
        self._lock = threading.Lock()
        self._hearer: tuple[asyncio.AbstractEventLoop, OnMessage] | None = None

    def read_spec(self) -> Spec:
        line = self._stdin.readline()
        if not line:
            kill_group()
        spec = from_message(json.loads(line))
        threading.Thread(target=self._watch, name="prime-control", daemon=True).start()
        return spec

    def deliver_to(self, loop: asyncio.AbstractEventLoop, on_message: OnMessage) -> None:
        """From now on, and for what came before, call `on_message(message)` in `loop`."""
        with self._lock:
            self._hearer = loop, on_message
            waiting, self._waiting = self._waiting, []
        for message in waiting:
            loop.call_soon_threadsafe(on_message, message)

    def _watch(self) -> None:
        for line in iter(self._stdin.readline, b""):
            message = json.loads(line)
            with self._lock:
                hearer = self._hearer
                if hearer is None:
                    self._waiting.append(message)
                    continue
            hearer[0].call_soon_threadsafe(hearer[1], message)
        kill_group()
