"""Ending a run before its end: at a signal, a cap, or because its first rollouts fail alike."""

import asyncio
import re
import signal
import threading
from collections.abc import Awaitable, Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from threading import Lock
from typing import cast

from prime_cli.core.errors import (
    EnvironmentFailed,
    NotAllowed,
    NotLoggedIn,
    PartialResult,
    PrimeError,
    Unreachable,
)
from prime_cli.core.formatting import shorten
from prime_cli.evals.execution.worker_failures import last_lines
from prime_cli.models.gateway.server import Gateway
from prime_cli.runs.rows import CANCELLED, Failure, Row
from prime_cli.runs.scrubber import Scrubber
from prime_cli.runs.tally import RolloutKey
from prime_cli.runs.work_list import GROUP
from prime_cli.runtime.causes import unreachable_host, unreachable_words
from prime_cli.runtime.protocol import Rollout

SECONDS_TO_STOP = 15.0
"""Seconds that a worker may take to stop before it is killed."""

_SIGNALS = tuple(
    signal.Signals[name] for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
)


class Interrupt:
    """A signal that came in; `signal` is the first one's number, or None."""

    def __init__(self, task: "asyncio.Task[object]", stop: Callable[[], Awaitable[None]]) -> None:
        self.signal: int | None = None
        self._task = task
        self._stop = stop
        self._stopping: asyncio.Task[None] | None = None

    def receive(self, number: int) -> None:
        """Ask for an orderly stop; the second signal cancels the run's task."""
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
        """While open, signals arrive here; must be entered in the main thread."""
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
        """While open, `interrupt` of the running loop receives signals, also earlier ones."""
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
    """While open, a signal stops the current task with `stop`.

    A task that was cancelled by it leaves the context without CancelledError. Signals come from the
    `switchboard`, if there is one; else handlers are installed here, which Python allows only in
    the main thread.
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


SMALLEST = 3
"""Fewer failures may be chance, even if few rollouts run at a time."""

# Names of requests, addresses in memory, times, counts: what tells one failure from its like.
_PARTICULAR = re.compile(r"\b(?=\w*\d)[\w-]+\b")
_REFUSED_REQUESTS = frozenset(("BadRequestError", "UnprocessableEntityError", "APIStatusError"))
_ABOUT_CONTENT = re.compile(r"content|polic|moderat|safety|flagged", re.IGNORECASE)

_CLASS_OF_TYPE: dict[str, type[PrimeError]] = {
    "AuthenticationError": NotLoggedIn,
    "PermissionDeniedError": NotAllowed,
    "InfraError": EnvironmentFailed,
    "SandboxError": EnvironmentFailed,
    "TunnelError": EnvironmentFailed,
}
_CLASS_OF_KIND: dict[str, type[PrimeError]] = {
    "infra": Unreachable,
    "environment": EnvironmentFailed,
    "model": PartialResult,
}


class WarmupCheck:
    """The rollouts of the first units, until one of them succeeds.

    Not those that end first: if some examples fail at once and others take long, the first to end
    are all failures.
    """

    def __init__(self, pairs: Collection[RolloutKey]) -> None:
        self.size = len(pairs)
        self._waiting = set(pairs)
        self._first: Failure | None = None

    def take(self, row: Row) -> Failure | None:
        """Add a finished rollout; returns the failure of all once it is certain."""
        pair = row.example_id, row.rollout
        if pair not in self._waiting:
            return None
        self._waiting.remove(pair)
        if not self._is_alike(row.error):
            self._waiting.clear()
            return None
        return None if self._waiting else self._first

    def _is_alike(self, failure: Failure | None) -> bool:
        if failure is None or not _is_of_every_rollout(failure):
            return False
        if self._first is None:
            self._first = failure
        return _likeness(failure) == _likeness(self._first)


def _is_of_every_rollout(failure: Failure) -> bool:
    """Whether a failure can affect all rollouts: one about a model's answer does not."""
    if failure.kind != "model":
        return failure.kind != CANCELLED
    return failure.type in _REFUSED_REQUESTS and not _ABOUT_CONTENT.search(failure.message)


def _likeness(failure: Failure) -> tuple[str, str, str]:
    return failure.kind, failure.type, _PARTICULAR.sub("#", failure.message)


def warmup_failure(
    failure: Failure,
    size: int,
    run: str,
    scrub: Scrubber,
    *,
    asked: str | None = None,
    has_flag: bool = True,
) -> PrimeError:
    """The PrimeError for a run whose first `size` rollouts all ended in `failure`.

    `asked` says how to allow the variables that were withheld from the environment. It `has_flag`
    if `--no-fail-fast` was an option of the command.
    """
    default = _CLASS_OF_KIND[failure.kind]
    kind = _CLASS_OF_TYPE.get(failure.type, default) if default is Unreachable else default
    first = shorten(scrub.text(failure.message).strip().partition("\n")[0])
    host = unreachable_host(f"{failure.message}\n{failure.traceback}")
    data = unreachable_words(host)[1] if host and default is EnvironmentFailed else None
    look = f"see one with `prime eval show {run} --errors`"
    onward = "continue anyway with `--no-fail-fast`" if has_flag else None
    return kind(
        f"The first {size} rollouts all ended in the same error: {failure.type}: {first}",
        hint="; ".join(filter(None, (asked, data, look, onward))),
        detail=last_lines(scrub.text(failure.traceback or "")),
    )


def no_sandbox(row: Row, scrub: Scrubber) -> PrimeError:
    """The error of a run whose rollouts would pay a model, and have no sandbox to work in."""
    said = row.error.message if row.error is not None else ""
    first = shorten(scrub.text(said).strip().partition("\n")[0])
    return EnvironmentFailed(
        f"The sandbox that example {row.example_id} needs cannot be had: {first}",
        hint="choose another place with `--sandbox-provider`, or go on with `--no-fail-fast`",
        detail=last_lines(scrub.text(row.error.traceback or "")) if row.error else None,
    )


SECONDS_TO_SCORE = 60.0
"""How long a rollout may run without a call, after the last calls have returned."""

_PAUSE = 0.05


class EarlyStop:
    """Ends the worker of a run whose calls are held.

    At a cap, answers that were paid for are kept: rollouts that need more calls wait, the others
    have time to be scored. After a failure it waits for nothing. `unit` is the number of rollouts
    that the environment scores together, once known.
    """

    def __init__(
        self, gateway: Gateway, cancel: Callable[[], Awaitable[None]], seconds: float
    ) -> None:
        self.unit: str | None = None
        self._gateway = gateway
        self._cancel = cancel
        self._seconds = seconds
        self._loop = asyncio.get_running_loop()
        self._task = cast("asyncio.Task[object]", asyncio.current_task())
        self._ending: asyncio.Task[None] | None = None
        self.forced = False
        self._lock = Lock()
        self._is_over = False

    @property
    def is_on(self) -> bool:
        """Whether calls and workers are stopped."""
        return self._gateway.hold.is_closed

    @property
    def capped(self) -> str | None:
        """The cap that stopped the run, if any."""
        return None if self.failure is not None else self._gateway.hold.capped

    @property
    def failure(self) -> PrimeError | None:
        """Why nothing of the run can succeed, if known."""
        return self._gateway.hold.failure

    def give_up(self, failure: PrimeError) -> None:
        """End the run, because of `failure`."""
        self._gateway.hold.close(failure)

    def refuses(self, event: Rollout) -> bool:
        """Whether a rollout was refused a call: its result is meaningless and dropped."""
        gate = self._gateway.hold
        return gate.tainted or self._is_held(event.example_id, event.rollout)

    def begin_soon(self) -> None:
        """Begin to end the run; may be called in any thread."""
        # Another run that shares the budget may use it up when this one's loop is closed.
        with self._lock:
            if not self._is_over:
                self._loop.call_soon_threadsafe(self._begin)

    def forget(self) -> None:
        """The run has ended by itself."""
        with self._lock:
            self._is_over = True
        self._gateway.hold.forget(self.begin_soon)
        if self._ending is not None:
            self._ending.cancel()

    def uncancel(self) -> None:
        """Undo the cancellation of the run."""
        self._task.uncancel()

    def _begin(self) -> None:
        if self._ending is None:
            self._ending = self._loop.create_task(self._end())

    async def _end(self) -> None:
        gate, waited = self._gateway.hold, 0.0
        gate.resume()  # what waits in a pause is held from now on
        while gate.failure is None and waited < self._seconds:
            if gate.in_flight == 0:
                if not self._is_working():
                    break
                waited += _PAUSE
            await asyncio.sleep(_PAUSE)
        await self._cancel()
        await asyncio.sleep(SECONDS_TO_STOP)
        self.forced = True
        self._task.cancel()

    def _is_working(self) -> bool:
        """Whether a rollout that made calls is neither finished nor waiting for a call."""
        return any(not self._is_held(*pair) for pair in self._gateway.ledger.open)

    def _is_held(self, example: int, rollout: int) -> bool:
        held = self._gateway.hold.held
        if self.unit == GROUP:
            return any(example == other for other, _ in held)
        return (example, rollout) in held


@contextmanager
def stopping_early(
    gateway: Gateway, cancel: Callable[[], Awaitable[None]], *, seconds: float = SECONDS_TO_SCORE
) -> Iterator[EarlyStop]:
    """While open, call `cancel` in time once the gateway holds all calls.

    A worker that does not end is killed with the context.
    """
    stop = EarlyStop(gateway, cancel, seconds)
    gateway.hold.on_close(stop.begin_soon)
    try:
        yield stop
    except asyncio.CancelledError:
        if not stop.forced:
            raise
        stop.uncancel()
    finally:
        stop.forget()
