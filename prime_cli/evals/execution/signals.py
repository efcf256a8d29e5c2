"""Ctrl-C, SIGTERM and SIGHUP in a run: the first asks it to stop, the second ends it."""

import asyncio
import signal
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from typing import cast

SECONDS_TO_STOP = 15.0
"""How long a worker that was asked to stop may take before it is killed."""

_SIGNALS = tuple(
    signal.Signals[name] for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
)


class Interrupt:
    """What came in; `signal` is the first signal's number, or None."""

    def __init__(self, task: "asyncio.Task[object]", stop: Callable[[], Awaitable[None]]) -> None:
        self.signal: int | None = None
        self._task = task
        self._stop = stop
        self._stopping: asyncio.Task[None] | None = None

    def receive(self, number: int) -> None:
        """Ask for an orderly stop; at the second time, cancel the run's task."""
        if self.signal is not None:
            self._task.cancel()
            return
        self.signal = number
        self._stopping = asyncio.ensure_future(self._stop_in_time())

    async def _stop_in_time(self) -> None:
        await self._stop()
        await asyncio.sleep(SECONDS_TO_STOP)
        self._task.cancel()

    def forget(self) -> None:
        """The run has ended by itself."""
        if self._stopping is not None:
            self._stopping.cancel()


class SignalRouter:
    """Passes signals of the main thread to the runs of others; `signal` is the first one."""

    def __init__(self) -> None:
        self.signal: int | None = None
        self._lock = threading.Lock()
        self._lines: dict[Interrupt, asyncio.AbstractEventLoop] = {}

    @contextmanager
    def listening(self) -> Iterator[None]:
        """While open, signals come here; to be entered in the main thread."""
        before = {number: signal.getsignal(number) for number in _wanted()}
        for number in before:
            signal.signal(number, self._receive)
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    @contextmanager
    def connected(self, interrupt: Interrupt) -> Iterator[None]:
        """While open, `interrupt` of the running loop is told; at once of what came before."""
        loop = asyncio.get_running_loop()
        with self._lock:
            self._lines[interrupt] = loop
            already = self.signal
        if already is not None:
            interrupt.receive(already)
        try:
            yield
        finally:
            with self._lock:
                del self._lines[interrupt]

    def _receive(self, number: int, _frame: object) -> None:
        self.signal = self.signal or number
        # No lock: this runs in the main thread, between any two steps of its own.
        for interrupt, loop in list(self._lines.items()):
            loop.call_soon_threadsafe(interrupt.receive, number)


def _wanted() -> list[int]:
    # What is ignored stays so: that is how `nohup` lets a run outlive its terminal.
    return [number for number in _SIGNALS if signal.getsignal(number) != signal.SIG_IGN]


@contextmanager
def interruptible(
    stop: Callable[[], Awaitable[None]], switchboard: SignalRouter | None = None
) -> Iterator[Interrupt]:
    """While open, the current task is stopped by `stop` when a signal comes in.

    A task that had to be cancelled for it leaves the context without CancelledError. Signals come
    by the `switchboard`, if there is one; else they are listened for here, which Python does in
    the main thread alone.
    """
    loop = asyncio.get_running_loop()
    task = cast("asyncio.Task[object]", asyncio.current_task())
    interrupt = Interrupt(task, stop)
    if switchboard is None:
        source = _listening(loop, interrupt)
    else:
        source = switchboard.connected(interrupt)
    try:
        with source:
            yield interrupt
    except asyncio.CancelledError:
        if interrupt.signal is None:
            raise
        task.uncancel()
    finally:
        interrupt.forget()


@contextmanager
def _listening(loop: asyncio.AbstractEventLoop, interrupt: Interrupt) -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in _wanted()}
    installed = []
    with suppress(ValueError, RuntimeError, NotImplementedError):
        for number in before:
            loop.add_signal_handler(number, interrupt.receive, number)
            installed.append(number)
    try:
        yield
    finally:
        for number in installed:
            loop.remove_signal_handler(number)
            signal.signal(number, before[number])
