"""Ctrl-C, SIGTERM and SIGHUP in a run: the first asks it to stop, the second ends it."""

import asyncio
import signal
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


@contextmanager
def interruptible(stop: Callable[[], Awaitable[None]]) -> Iterator[Interrupt]:
    """While open, the current task is stopped by `stop` when a signal comes in.

    A task that had to be cancelled for it leaves the context without CancelledError. Outside the
    main thread, where Python delivers no signals, nothing is installed.
    """
    loop = asyncio.get_running_loop()
    task = cast("asyncio.Task[object]", asyncio.current_task())
    interrupt = Interrupt(task, stop)
    # What is ignored stays so: that is how `nohup` lets a run outlive its terminal.
    wanted = [number for number in _SIGNALS if signal.getsignal(number) != signal.SIG_IGN]
    before = {number: signal.getsignal(number) for number in wanted}
    installed = []
    with suppress(ValueError, RuntimeError, NotImplementedError):
        for number in wanted:
            loop.add_signal_handler(number, interrupt.receive, number)
            installed.append(number)
    try:
        yield interrupt
    except asyncio.CancelledError:
        if interrupt.signal is None:
            raise
        task.uncancel()
    finally:
        interrupt.forget()
        for number in installed:
            loop.remove_signal_handler(number)
            signal.signal(number, before[number])
