"""The connection to the parent: a descriptor that messages come from, and one for events.

Each is one line of JSON. The first message is the spec; the end of the messages terminates this
process.
"""

import asyncio
import json
import os
import threading
from collections.abc import Callable
from typing import Any

from .jsonable import plain
from .processes import kill_group
from .spec import WorkerSpec, from_message

OnMessage = Callable[[dict[str, Any]], None]


class Control:
    """Reads messages in a thread, so that the end of the parent also terminates an environment that
    blocks the event loop. Messages are passed to `on_message` in the event loop.
    """

    def __init__(self, descriptor: int) -> None:
        os.set_inheritable(descriptor, False)  # noqa: FBT003
        self._messages = os.fdopen(descriptor, "rb")
        self._waiting: list[dict[str, Any]] = []
        self._lock = threading.Lock()
        self._receiver: tuple[asyncio.AbstractEventLoop, OnMessage] | None = None

    def read_spec(self) -> WorkerSpec:
        line = self._messages.readline()
        if not line:
            kill_group()
        spec = from_message(json.loads(line))
        threading.Thread(target=self._watch, name="prime-control", daemon=True).start()
        return spec

    def deliver_to(self, loop: asyncio.AbstractEventLoop, on_message: OnMessage) -> None:
        """Call `on_message(message)` in `loop` for earlier and later messages."""
        with self._lock:
            self._receiver = loop, on_message
            waiting, self._waiting = self._waiting, []
        for message in waiting:
            loop.call_soon_threadsafe(on_message, message)

    def _watch(self) -> None:
        for line in iter(self._messages.readline, b""):
            message = json.loads(line)
            with self._lock:
                receiver = self._receiver
                if receiver is None:
                    self._waiting.append(message)
                    continue
            receiver[0].call_soon_threadsafe(receiver[1], message)
        kill_group()


# The parent reads lines of at most 64 MiB; longer rollouts lose their largest fields.
LONGEST_LINE = 48 * 1024 * 1024
EMPTY: dict[str, Any] = {
    **{name: {} for name in ("state", "metrics", "timing")},
    **dict.fromkeys(("prompt", "completion", "answer", "info", "task", "stop_condition")),
}
"""The fields of a rollout that it can do without, and what is left of them."""


class Events:
    """Writes whole lines, from any thread. Without a parent this process and its children are
    killed.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._lock = threading.Lock()
        self._left_out: set[str] = set()
        os.set_inheritable(descriptor, False)  # noqa: FBT003

    def send(self, kind: str, **fields: Any) -> None:
        line = encode(dict(fields, t=kind))
        while kind == "rollout" and len(line) > LONGEST_LINE:
            sizes = {name: len(encode({name: fields[name]})) for name in EMPTY if fields.get(name)}
            if not sizes:
                break
            name = max(sizes, key=sizes.__getitem__)
            fields[name] = EMPTY[name]
            self._say_left_out(name, sizes[name])
            line = encode(dict(fields, t=kind))
        with self._lock:
            self._write(memoryview(line))

    def _say_left_out(self, name: str, size: int) -> None:
        if name not in self._left_out:
            self._left_out.add(name)
            self.log(
                f"A rollout is too long to keep whole: its {name}, {size >> 20} MiB, is left out"
            )

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
