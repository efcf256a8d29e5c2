"""Protect the process from the environment: its input, stdout, signals, exit hooks, garbage."""

import asyncio
import atexit
import contextlib
import gc
import os
import signal
import sys
import threading
import traceback
from collections.abc import Coroutine, Iterator
from typing import Any, NoReturn

from .channel import Events
from .failures import CodeExit, is_cancellation
from .processes import kill_descendants, kill_group

SECONDS_TO_LEAVE = 10.0
SECONDS_TO_END = 30.0
"""From the last rollout to the end: teardown, servers of a v1 environment, exit hooks."""


def redirect_stdout() -> None:
    """Point descriptor 1 at descriptor 2, the log, to keep prints out of the protocol."""
    os.dup2(2, 1)
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(line_buffering=True, errors="backslashreplace")  # type: ignore[union-attr]


class Handlers:
    """Ignores signal handlers, and verifiers' exit hooks, installed while an environment loads.

    verifiers 0.1.8 to 0.3.1 installs both in every constructor, the hook with an event loop of its
    own; its teardown is awaited by `teardown` instead. Other exit hooks run at exit.
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


def contain_exits(loop: asyncio.AbstractEventLoop) -> None:
    """Make what would end the process, such as `sys.exit()` in a reward, an error of its task.

    asyncio passes SystemExit and KeyboardInterrupt of any task on to whoever runs the loop, and
    GeneratorExit closes every coroutine that awaits the task. verifiers records only an Exception.
    """
    loop.set_task_factory(_make_task)


def _make_task(
    loop: asyncio.AbstractEventLoop, coroutine: Any, **options: Any
) -> "asyncio.Task[Any]":
    return asyncio.Task(contained(coroutine), loop=loop, **options)


async def contained(coroutine: Any) -> Any:
    """What `coroutine` returns; what would end the process is a CodeExit."""
    try:
        return await coroutine
    except BaseException as error:
        if isinstance(error, Exception) or is_cancellation(error):
            raise
        raise CodeExit(repr(error)) from error


def run_to_end(loop: asyncio.AbstractEventLoop, work: Coroutine[Any, Any, None]) -> None:
    """Run `work`, which a callback of the loop cannot end by `sys.exit()`."""
    task = loop.create_task(work)
    while True:
        try:
            return loop.run_until_complete(task)
        except SystemExit:
            print("a callback of the event loop raised:", file=sys.stderr)  # noqa: T201
            traceback.print_exc()


async def teardown(environment: Any) -> None:
    """Run the environment's teardown (sandboxes, servers) with a time limit."""
    own = getattr(environment, "_teardown", None)
    if own is None:
        return
    try:
        await asyncio.wait_for(own(), SECONDS_TO_LEAVE)
    except BaseException as error:
        if is_cancellation(error):
            raise
        print(f"teardown failed: {error!r}", file=sys.stderr)  # noqa: T201


def end_in_time(events: Events, *, interrupted: bool) -> None:
    """After the last rollout: end after SECONDS_TO_END, even if teardown still runs."""

    def give_up() -> None:
        print("teardown did not end in time", file=sys.stderr)  # noqa: T201
        events.send(
            "end", ok=not interrupted, stage="interrupted" if interrupted else None, error=None
        )
        kill_group()

    timer = threading.Timer(SECONDS_TO_END, give_up)
    timer.daemon = True
    timer.start()


def exit_process(code: int) -> NoReturn:
    """Run the exit hooks with a time limit, then exit without waiting for threads."""
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
def rare_collections() -> Iterator[None]:
    """Collect garbage after 20,000 new objects instead of 700.

    Importing verifiers creates hundreds of thousands of lasting objects; scanning them again and
    again took a tenth of its three seconds. A higher threshold saves less: the objects scanned have
    left the processor's cache.
    """
    usual = gc.get_threshold()
    gc.set_threshold(NEW_OBJECTS, *usual[1:])
    try:
        yield
    finally:
        gc.set_threshold(*usual)
