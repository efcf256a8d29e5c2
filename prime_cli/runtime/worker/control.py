"""The parent's end of the line: stdin. Its first line is the spec, and its end is our end."""

import json
import sys
import threading

from .guards import kill_group
from .spec import from_message


class Control:
    """Reads stdin in a thread, so that even an environment that blocks the event loop is ended
    when the parent is gone. Messages are handed to `on_message` in the event loop.
    """

    def __init__(self):
        self._stdin = sys.stdin.buffer
        self._waiting = []
        self._lock = threading.Lock()
        self._loop = None
        self._on_message = None

    def read_spec(self):
        line = self._stdin.readline()
        if not line:
            kill_group()
        spec = from_message(json.loads(line))
        threading.Thread(target=self._watch, name="prime-control", daemon=True).start()
        return spec

    def deliver_to(self, loop, on_message):
        """From now on, and for what came before, call `on_message(message)` in `loop`."""
        with self._lock:
            self._loop, self._on_message = loop, on_message
            waiting, self._waiting = self._waiting, []
        for message in waiting:
            loop.call_soon_threadsafe(on_message, message)

    def _watch(self):
        for line in iter(self._stdin.readline, b""):
            message = json.loads(line)
            with self._lock:
                if self._loop is None:
                    self._waiting.append(message)
                    continue
            self._loop.call_soon_threadsafe(self._on_message, message)
        kill_group()
