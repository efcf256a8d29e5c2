"""The steps of a training while it runs: what is shown, and whether they are still worth it."""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from prime_cli.core.errors import GateFailed, PartialResult, PrimeError
from prime_cli.core.formatting import format_duration, format_interval, format_number, pluralize
from prime_cli.core.progress import Task
from prime_cli.training.curves import read_steps, series, throughput
from prime_cli.training.plan import TrainingPlan
from prime_cli.training.trainer_events import METRICS

_SLOW = 3.0
"""Steps that take longer show their rollouts too."""


class StepProgress:
    """Shows the steps of a session on `task`; `step` of them were done by earlier sessions.

    The time left follows from the steps alone: the engine's start and the probe come once.
    """

    def __init__(
        self,
        plan: TrainingPlan,
        task: Task,
        step: int,
        *,
        engine: str,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._plan, self._task, self._engine, self._clock = plan, task, engine, clock
        self._first = self._step = step
        self._began = self._changed = clock()
        self._metrics = ""
        self._is_evaluating = False
        self._is_probing = True
        task.advance(step)
        task.update(note=f"starting {engine}")

    def add_step(self, step: int, metrics: Mapping[str, Any]) -> None:
        """A step was done."""
        self._step, self._changed = step, self._clock()
        words = [
            f"{word} {format_number(value)}"
            for word, name in (("reward", "reward"), ("spread", "reward_std"), ("length", "length"))
            if isinstance(value := metrics.get(name), float | int)
        ]
        if speed := throughput(metrics):
            words.append(f"{speed:,.0f} tokens/s")
        if (done := step - self._first) > 0:  # an engine may report the step that it began at
            left = (self._changed - self._began) / done * (self._plan.steps - step)
            words.append(f"{format_duration(left)} left")
        self._metrics = ", ".join(words)
        self._task.advance()
        self._task.update(note=self._metrics)

    @contextmanager
    def evaluating(self) -> Iterator[None]:
        """While the context is open an evaluation runs, which has a bar of its own."""
        self._is_evaluating = True
        self._task.update(note=self._metrics)
        try:
            yield
        finally:
            self._is_evaluating = self._is_probing = False  # which comes before any evaluation
            self._changed = self._clock()

    def look(self, played: Callable[[int], int], *, has_policy: bool) -> None:
        """Show what goes on, now and then; `played` counts the finished rollouts of a step."""
        if self._is_evaluating:
            return
        now, step = self._clock(), self._step + 1
        count = played(step)
        if step == self._first + 1 and not count:
            self._began = self._changed = now
            probed = played(0) if self._is_probing else 0
            if probed:
                self._task.update(note=f"probe: {pluralize(probed, 'rollout')}")
            elif has_policy:
                self._task.update(note="")
        elif now - self._changed > _SLOW and step <= self._plan.steps:
            words = [f"step {step}: {self._running(count)}", self._metrics]
            self._task.update(note=", ".join(filter(None, words)))

    def _running(self, count: int) -> str:
        planned = self._plan.batch * self._plan.group
        if self._plan.data is not None or count >= planned:
            return "updating the weights"
        return f"{count:,} of {planned:,} rollouts"


_MOST_ERRORS = 0.5
_IN_A_ROW = 3


class StepChecks:
    """Counts steps in a row that fail or teach nothing, in the training of `folder`.

    `learned` says why it ends early with success: the reward rose until all rewards were equal.
    """

    def __init__(self, folder: Path) -> None:
        self.learned: str | None = None
        self._folder = folder
        self._failed = self._without_spread = 0

    def add(self, line: Mapping[str, Any]) -> PrimeError | None:
        """Count the step of this line of metrics.jsonl; returns why the training fails, if so."""
        rollouts, errors = line.get("rollouts") or 0, line.get("errors") or 0
        self._failed = self._failed + 1 if errors > _MOST_ERRORS * rollouts else 0
        has_spread = line.get("no_spread") != 1.0
        self._without_spread = 0 if has_spread else self._without_spread + 1
        if self._failed >= _IN_A_ROW:
            return PartialResult(
                f"More than half of the rollouts of {_IN_A_ROW} steps ended in an error",
                hint=f"see them with `prime eval view {self._folder}`",
            )
        if self._without_spread >= _IN_A_ROW:
            return self._end_without_spread(line.get("reward"))
        return None

    def _end_without_spread(self, reward: object) -> PrimeError | None:
        message = f"Nothing is left to learn from: in {_IN_A_ROW} steps no group had two rewards"
        first = series(read_steps(self._folder / METRICS), "reward")[:1]
        if isinstance(reward, float | int) and first and reward > first[0]:
            self.learned = f"{message}; the reward rose from {format_interval((first[0], reward))}"
            return None
        return GateFailed(message, hint="the model solves all or none of it; choose other examples")
