"""Hard limits on what an environment may take: for one rollout, and for its scoring."""

import asyncio
import functools
import inspect
from types import TracebackType
from typing import Any

SECONDS_BETWEEN = 10.0
"""What clears up after it was cancelled has this long before it is cancelled again."""

SCORING = ("score_rollout", "score_rollouts", "score_group")


class ScoringTimeout(Exception):
    """Scoring took longer than it may."""


class RolloutTimeout(Exception):
    """A rollout took longer than it may, its scoring included."""


class Deadline:
    """Within, the current task is cancelled after `seconds`, and again until it ends; what leaves
    the context then is `late`. None is no limit. (asyncio.timeout is of Python 3.11.)
    """

    def __init__(self, seconds: float | None, late: Exception) -> None:
        self._seconds = seconds
        self._late = late
        self._expired = 0
        self._task: asyncio.Task[Any] | None = None
        self._timer: asyncio.TimerHandle | None = None

    def __enter__(self) -> None:
        if self._seconds is not None:
            self._task = asyncio.current_task()
            self._wait(self._seconds)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if not self._expired or self._task is None:
            return
        if hasattr(self._task, "uncancel"):
            for _ in range(self._expired):
                self._task.uncancel()
        if kind is not None and not issubclass(kind, Exception):
            raise self._late from None

    def _wait(self, seconds: float) -> None:
        self._timer = asyncio.get_running_loop().call_later(seconds, self._expire)

    def _expire(self) -> None:
        if self._task is not None:
            self._expired += 1
            self._task.cancel()
            self._wait(SECONDS_BETWEEN)


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
