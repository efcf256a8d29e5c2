"""The interface of a loaded environment, and the schedule of its rollouts.

A bounded number runs at a time; rollouts that may succeed later are retried.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Any, Protocol

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
    def weights(self) -> dict[str, float] | None:
        """Weights by the name of their reward; None if unknown."""

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
    never raises; `emit(row)` is called for each row that is final.
    """

    def __init__(self, spec: WorkerSpec, run_unit: RunUnit, emit: Callable[[Row], None]) -> None:
        self._spec = spec
        self._run_unit = run_unit
        self._emit = emit
        self._workers: list[asyncio.Future[None]] = []
        self.cancelled = False

    async def run(self, units: list[Unit], lanes: int) -> None:
        """Run `units` in order, `lanes` of them at a time."""
        waiting = iter(units)
        self._workers = [
            asyncio.ensure_future(self._work(waiting)) for _ in range(min(lanes, len(units)))
        ]
        try:
            await asyncio.gather(*self._workers)
        except asyncio.CancelledError:
            if not self.cancelled:
                raise
            # What ignores its cancellation ends with the process.
            await asyncio.wait(self._workers, timeout=SECONDS_TO_GIVE_UP)

    def cancel(self) -> None:
        """Start nothing new and cancel what is in flight."""
        self.cancelled = True
        for worker in self._workers:
            worker.cancel()

    async def _work(self, waiting: Iterator[Unit]) -> None:
        for example, rollouts in waiting:
            if self.cancelled:
                return
            for row in await self._with_retries(example, rollouts):
                self._emit(row)

    async def _with_retries(self, example: int, rollouts: list[int]) -> list[Row]:
        attempt = max(self._spec.attempt(example, rollout) for rollout in rollouts)
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
