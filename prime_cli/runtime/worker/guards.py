"""Keeps an environment's hands off the process: its stdout, its signals, its exit."""

import asyncio
import atexit
import contextlib
import gc
import os
import signal
import sys
import threading
from collections.abc import Iterator
from typing import Any, NoReturn

from .channel import Events
from .processes import kill_descendants, kill_group

SECONDS_TO_LEAVE = 10.0
SECONDS_TO_END = 30.0
"""From the last rollout to the end: teardown, whatever serves a v1 environment, exit hooks."""


def send_prints_to_log() -> None:
    """Descriptor 1 becomes descriptor 2: the log; nothing that is printed meets the protocol."""
    os.dup2(2, 1)
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(line_buffering=True, errors="backslashreplace")  # type: ignore[union-attr]


class Handlers:
    """Signal handlers and exit hooks that an environment installs while it is loaded.

    verifiers 0.1.8 to 0.3.1 installs both in every constructor, with a hook that starts an event
    loop of its own; its teardown is awaited by us instead. Other exit hooks run at the end.
    """

    def __init__(self) -> None:
        self._register = atexit.register
        self._signal = signal.signal

    def __enter__(self) -> "Handlers":
        def register(function: Any, *args: Any, **kwargs: Any) -> Any:
            if "_sync_teardown" in getattr(function, "__qualname__", ""):
                return function
            return self._register(function, *args, **kwargs)

        def ignore(number: int, handler: Any) -> Any:  # noqa: ARG001
            return signal.getsignal(number)

        atexit.register = register  # type: ignore[assignment]
        signal.signal = ignore  # type: ignore[assignment]
        return self

    def __exit__(self, *_: object) -> None:
        atexit.register = self._register
        signal.signal = self._signal


async def teardown(environment: Any) -> None:
    """The environment's own teardown (sandboxes, servers), within bounds."""
    own = getattr(environment, "_teardown", None)
    if own is None:
        return
    try:
        await asyncio.wait_for(own(), SECONDS_TO_LEAVE)
    except Exception as error:
        print(f"teardown failed: {error!r}", file=sys.stderr)  # noqa: T201


def end_in_time(events: Events, *, interrupted: bool) -> None:
    """All rollouts are done: say so and end after SECONDS_TO_END, whatever teardown still does."""

    def give_up() -> None:
        print("teardown did not end in time", file=sys.stderr)  # noqa: T201
        events.send(
            "end", ok=not interrupted, stage="interrupted" if interrupted else None, error=None
        )
        kill_group()

    timer = threading.Timer(SECONDS_TO_END, give_up)
    timer.daemon = True
    timer.start()


def leave(code: int) -> NoReturn:
    """Run the exit hooks within bounds, then end without waiting for anybody's threads."""
    timer = threading.Timer(SECONDS_TO_LEAVE, os._exit, (code,))
    timer.daemon = True
    timer.start()
    atexit._run_exitfuncs()  # noqa: SLF001 - the interpreter's own, without joining threads
    with contextlib.suppress(OSError, ValueError):
        sys.stdout.flush()
        sys.stderr.flush()
        kill_descendants()
    os._exit(code)


NEW_OBJECTS = 20_000


@contextlib.contextmanager
def seldom_collected() -> Iterator[None]:
    """Within: a collection for every 20,000 new objects instead of every 700.

    To import verifiers makes hundreds of thousands of objects, and all of them stay; looking
    through them again and again took a tenth of the three seconds. Rarer collections save less:
    what they look through has left the processor's cache.
    """
    usual = gc.get_threshold()
    gc.set_threshold(NEW_OBJECTS, *usual[1:])
    try:
        yield
    finally:
        gc.set_threshold(*usual)
