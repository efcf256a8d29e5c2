"""The interface of a loaded environment, and the schedule of its rollouts.

A bounded number runs at a time; rollouts that may succeed later are retried.
"""

import asyncio
import contextlib
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from typing import Any, Protocol

from .deadlines import hold_deadlines
from .examples import Examples, SurveyedExample
from .rows import Row
from .spec import WorkerSpec


class Generation(Protocol):
    """A loaded environment: `v0.V0` or `v1.V1`, constructed from (spec, module).

    `environment` is verifiers' object; `unit` is "rollout", "group" or "episode"; at most `lanes`
    units run at a time.
    """

    environment: Any
    examples: Examples
    unit: str
    family: str
    harness: str | None
    agents: Sequence[dict[str, Any]]
    lanes: int

    @property
    def answers(self) -> dict[str, Any]:
        """Gold answers by the index of their example."""

    @property
    def lines(self) -> Iterator[bytes]:
        """The examples in order, as the input of their fingerprint."""

    @property
    def described(self) -> list[SurveyedExample]:
        """The examples as `survey` reads them."""

    @property
    def splits(self) -> dict[str, list[SurveyedExample]]:
        """All examples of each split, or of the only one; at most MOST_COMPARED of each."""

    @property
    def weights(self) -> dict[str, float] | None:
        """Weights by the name of their reward; None if unknown."""

    @property
    def judges(self) -> list[dict[str, str]]:
        """What the environment declares of its judges, as the parent's JudgeInfo."""

    @property
    def rules(self) -> list[Any]:
        """The functions that give rewards."""

    def gold(self, example: int) -> tuple[Any, Any]:
        """(answer, info) of an example, for an oracle."""

    async def run_unit(self, example: int, rollouts: list[int], attempt: int) -> list[Row]:
        """One row for each rollout, whatever happens."""

    async def serve(self, run: Callable[[], Awaitable[None]]) -> None:
        """Await `run()` while the servers that rollouts need are up."""


SECONDS_TO_GIVE_UP = 3.0


Unit = tuple[int, list[int]]
RunUnit = Callable[[int, list[int], int], Awaitable[list[Row]]]


class Schedule:
    """Units of work: (example, [rollout, ...]) pairs, one rollout each or a whole group.

    `run_unit(example, rollouts, attempt)` returns one row (a dict) for each of its rollouts and
    never raises; `emit(row)` is called for each row that is final. Orders add, drop and hold units;
    one that follows has none beforehand, and goes on until there will be no more. `by_group` is
    whether the rollouts of an order are one unit, which is scored together.
    """

    def __init__(
        self,
        spec: WorkerSpec,
        run_unit: RunUnit,
        emit: Callable[[Row], None],
        *,
        by_group: bool = False,
    ) -> None:
        self._spec = spec
        self._run_unit = run_unit
        self._emit = emit
        self._by_group = by_group
        self._waiting: deque[Unit] = deque()
        self._running: dict[asyncio.Future[None], Unit] = {}
        self._given_up: set[tuple[int, int]] = set()
        self._lanes = self._taken = 0
        self._is_held = self._is_draining = False
        self._finishing = not spec.follow
        self._idle = asyncio.Event()
        self._failure: BaseException | None = None
        self.cancelled = False

    async def run(self, units: list[Unit], lanes: int) -> None:
        """Run `units` in order, at most `lanes` rollouts at a time, of groups the `concurrency`.

        A larger group runs alone.
        """
        # What was ordered while the environment loaded stands.
        self._waiting.extend(() if self._is_draining else filter(self._is_wanted, units))
        self._lanes = self._lanes or (self._spec.concurrency if self._by_group else lanes)
        self._go_on()
        await self._idle.wait()
        if self._failure is not None:
            raise self._failure
        if self.cancelled and self._running:
            # What ignores its cancellation ends with the process.
            await asyncio.wait(self._running, timeout=SECONDS_TO_GIVE_UP)

    def cancel(self) -> None:
        """Start nothing new and cancel what is in flight."""
        self.cancelled = True
        self._waiting.clear()
        for task in self._running:
            task.cancel()
        self._idle.set()

    def obey(self, order: dict[str, Any]) -> None:
        """Do what the parent says; words that are unknown come from a newer one."""
        if order["t"] == "run":
            example, attempt = order["example"], order.get("attempt", 1)
            rollouts = order["rollouts"]
            if attempt > 1:
                self._spec.attempts.update({f"{example}.{number}": attempt for number in rollouts})
            for unit in [rollouts] if self._by_group else [[rollout] for rollout in rollouts]:
                self._waiting.append((example, unit))
        elif order["t"] == "drop":
            self._drop(order["example"], order["rollouts"])
        elif order["t"] == "steer":
            self._lanes = order.get("concurrency") or self._lanes
            self._is_held = bool(order.get("held"))
            hold_deadlines(held=self._is_held)
            self._is_draining = bool(order.get("draining"))
            if self._is_draining:
                self._waiting.clear()
        elif order["t"] == "finish":
            self._finishing = True
        self._go_on()

    def _drop(self, example: int, rollouts: Iterable[int]) -> None:
        """Give up the units that hold one of these rollouts."""
        given_up = set(rollouts)
        self._given_up.update((example, number) for number in given_up)

        def is_dropped(of: int, numbers: list[int]) -> bool:
            return of == example and not given_up.isdisjoint(numbers)

        self._waiting = deque(unit for unit in self._waiting if not is_dropped(*unit))
        for task, unit in self._running.items():
            if is_dropped(*unit):
                task.cancel()

    def _is_wanted(self, unit: Unit) -> bool:
        example, rollouts = unit
        return self._given_up.isdisjoint((example, number) for number in rollouts)

    def _go_on(self) -> None:
        while self._waiting and not self.cancelled and self._fits(self._waiting[0][1]):
            example, rollouts = self._waiting.popleft()
            task = asyncio.ensure_future(self._run(example, rollouts))
            self._running[task] = example, rollouts
            self._taken += len(rollouts)
            task.add_done_callback(self._ended)
        # A held run has its end ahead: it may still be given more to do.
        if self._finishing and not (self._waiting or self._running or self._is_held):
            self._idle.set()

    def _fits(self, rollouts: list[int]) -> bool:
        if self._lanes <= 0 or self._is_held:
            return False
        return len(rollouts) <= self._lanes - self._taken or not self._running

    async def _run(self, example: int, rollouts: list[int]) -> None:
        attempt = max(self._spec.attempt(example, rollout) for rollout in rollouts)
        for row in await self._with_retries(example, rollouts, attempt):
            self._emit(row)

    def _ended(self, task: "asyncio.Future[None]") -> None:
        self._taken -= len(self._running.pop(task)[1])
        if not task.cancelled() and (failure := task.exception()) is not None:
            self._failure = failure
            self._idle.set()
        self._go_on()

    async def _with_retries(self, example: int, rollouts: list[int], attempt: int) -> list[Row]:
        last = attempt + self._spec.max_retries
        again: dict[int, str] = {}
        while True:
            # A task of its own, so that context variables set by the environment end with the unit.
            task = asyncio.ensure_future(self._run_unit(example, rollouts, attempt))
            try:
                rows = await task
            except asyncio.CancelledError:
                task.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await task
                raise
            for row in rows:
                row["again"] = again.get(row["rollout"])
            if attempt >= last or not any(_had_no_answer(row) for row in rows):
                return rows
            attempt += 1
            again = {row["rollout"]: "infra" if _had_no_answer(row) else "group" for row in rows}


def _had_no_answer(row: Row) -> bool:
    """Whether the endpoint failed before any answer, so that a retry is unbiased and may help."""
    error = row["error"]
    if error is None or error["in_scoring"]:
        return False
    return error["class"] == "infra" and bool(error["retryable"])
