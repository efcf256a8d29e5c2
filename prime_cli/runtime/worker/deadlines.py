"""Hard limits on an environment: for a rollout, its scoring, and code that blocks.

A reward function that sleeps, loops or runs a pathological regex never awaits, so asyncio cannot
cancel it. The event loop keeps rearming two system timers. If it stalls, the first sends a signal
whose handler raises `Blocked` right where the code is, even within `re` and system calls; that
fails one rollout. Code that even this does not reach (C code that checks no signals) is killed with
the process by the second; the parent starts another worker for the rest.

Only Linux has such timers; elsewhere a thread sends the signal, as long as the code lets threads
run.
"""

import asyncio
import ctypes
import functools
import inspect
import os
import signal
import sys
import threading
import time
from types import TracebackType
from typing import Any, ClassVar

SECONDS_BETWEEN = 10.0
"""Time for cleanup after a cancellation before the next one."""

SCORING = ("score_rollout", "score_rollouts", "score_group")


class ScoringTimeout(Exception):
    """Scoring exceeded its time limit."""


class RolloutTimeout(Exception):
    """A rollout exceeded its time limit, including its scoring."""


class Deadline:
    """Within, the current task is cancelled after `seconds`, and again until it ends; what leaves
    the context then is `late`. None is no limit. (asyncio.timeout is of Python 3.11.)
    """

    open: ClassVar[set["Deadline"]] = set()
    are_held: ClassVar[bool] = False

    def __init__(self, seconds: float | None, late: Exception) -> None:
        self._seconds = seconds
        self._late = late
        self._expired = 0
        self._task: asyncio.Task[Any] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._left = 0.0

    def __enter__(self) -> None:
        if self._seconds is not None:
            self._task = asyncio.current_task()
            self.open.add(self)
            self._wait(self._seconds)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.open.discard(self)
        if self._timer is not None:
            self._timer.cancel()
        if not self._expired or self._task is None:
            return
        if hasattr(self._task, "uncancel"):
            for _ in range(self._expired):
                self._task.uncancel()
        if kind is not None and not issubclass(kind, Exception):
            raise self._late from None

    def hold(self) -> None:
        """Stop the clock."""
        if self._timer is not None:
            self._left = max(0.0, self._timer.when() - asyncio.get_running_loop().time())
            self._timer.cancel()
            self._timer = None

    def go_on(self) -> None:
        """Start the clock again, with what was left."""
        if self._timer is None:
            self._wait(self._left)

    def _wait(self, seconds: float) -> None:
        self._left = seconds
        if not self.are_held:
            self._timer = asyncio.get_running_loop().call_later(seconds, self._expire)

    def _expire(self) -> None:
        if self._task is not None:
            self._expired += 1
            self._task.cancel()
            self._wait(SECONDS_BETWEEN)


def hold_deadlines(*, held: bool) -> None:
    """Stop the clocks of all deadlines, or start them again: time in a pause does not count."""
    Deadline.are_held = held
    for each in Deadline.open:
        each.hold() if held else each.go_on()


def limit_scoring(owner: Any, seconds: float | None, names: tuple[str, ...] = SCORING) -> None:
    """Give the scoring methods of a rubric, or of a class of v1 tasks, a deadline."""
    for name in names:
        method = getattr(owner, name, None)
        if seconds is not None and inspect.iscoroutinefunction(method):
            setattr(owner, name, _limited(method, seconds))


def _limited(method: Any, seconds: float) -> Any:
    @functools.wraps(method)
    async def scored(*args: Any, **kwargs: Any) -> Any:
        with Deadline(seconds, ScoringTimeout(f"scoring took longer than {seconds:g} s")):
            return await method(*args, **kwargs)

    return scored


LONGEST_GRACE_S = 60.0
SHORTEST_GRACE_S = 5.0
AGAIN_S = 10.0
LONGEST_BEAT_S = 5.0
_CLOCK_MONOTONIC = 1
"""Linux's value, and used only there; `time` has it on some systems only."""


class Blocked(Exception):
    """The environment's code blocked everything else for too long."""


class Watchdog:
    """Watches `loop` from `start` to `stop`; it may block for `seconds`, None for ever."""

    def __init__(self, seconds: float | None) -> None:
        self._seconds = seconds or 0.0
        self._grace = min(LONGEST_GRACE_S, max(SHORTEST_GRACE_S, self._seconds))
        self._beat_s = min(LONGEST_BEAT_S, self._seconds / 4)
        self._last = time.monotonic()
        self._next: asyncio.TimerHandle | None = None
        self._timers: list[Any] = []

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        if sys.platform == "win32" or not self._seconds:
            return
        number = getattr(signal, "SIGRTMIN", signal.SIGUSR2)
        signal.signal(number, self._interrupt)
        kinds = (number, signal.SIGKILL)
        if sys.platform.startswith("linux"):
            self._timers = [_SystemTimer(kind) for kind in kinds]
        else:
            self._timers = [_ThreadTimer(kind) for kind in kinds]
        self._beat(loop)

    def stop(self) -> None:
        if self._next is not None:
            self._next.cancel()
        for timer in self._timers:
            timer.wind(0.0, 0.0)

    def _beat(self, loop: asyncio.AbstractEventLoop) -> None:
        self._last = time.monotonic()
        interrupt, kill = self._timers
        interrupt.wind(self._seconds, AGAIN_S)
        kill.wind(self._seconds + self._grace, 0.0)
        self._next = loop.call_later(self._beat_s, self._beat, loop)

    def _interrupt(self, number: int, frame: Any) -> None:
        blocked = time.monotonic() - self._last
        if blocked >= self._seconds:
            raise Blocked(f"the environment let nothing else run for {blocked:.0f} s")


class _SignalEvent(ctypes.Structure):
    """struct sigevent; `notify` 0 is SIGEV_SIGNAL."""

    _fields_ = (
        ("value", ctypes.c_void_p),
        ("number", ctypes.c_int),
        ("notify", ctypes.c_int),
        ("rest", ctypes.c_byte * 48),
    )


class _SystemTimer:
    """POSIX: timer_create(2), which fires without any help from Python."""

    def __init__(self, number: int) -> None:
        self._libc = _with_timers()
        event = _SignalEvent(number=number)
        self._id = ctypes.c_void_p()
        code = self._libc.timer_create(
            _CLOCK_MONOTONIC, ctypes.byref(event), ctypes.byref(self._id)
        )
        if code:
            raise OSError(ctypes.get_errno(), "timer_create")

    def wind(self, seconds: float, again: float) -> None:
        times = (ctypes.c_long * 4)(*_split(again), *_split(seconds))
        self._libc.timer_settime(self._id, 0, times, None)


class _ThreadTimer:
    """The same with a thread."""

    def __init__(self, number: int) -> None:
        self._number = number
        self._until = self._again = 0.0
        threading.Thread(target=self._watch, name="prime-watchdog", daemon=True).start()

    def wind(self, seconds: float, again: float) -> None:
        self._again = again
        self._until = time.monotonic() + seconds if seconds else 0.0

    def _watch(self) -> None:
        while True:
            time.sleep(0.5)
            if self._until and time.monotonic() >= self._until:
                self.wind(self._again, self._again)
                os.kill(os.getpid(), self._number)


def _with_timers() -> Any:
    libc = ctypes.CDLL(None, use_errno=True)
    # glibc before 2.34 has them in a separate library.
    return libc if hasattr(libc, "timer_create") else ctypes.CDLL("librt.so.1", use_errno=True)


def _split(seconds: float) -> tuple[int, int]:
    whole = int(seconds)
    return whole, int((seconds - whole) * 1e9)
