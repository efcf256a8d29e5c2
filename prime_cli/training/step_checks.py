"""Whether a training is still worth its steps."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from prime_cli.core.errors import GateFailed, PartialResult, PrimeError
from prime_cli.core.formatting import format_interval
from prime_cli.training.curves import read_steps, series
from prime_cli.training.trainer_events import METRICS

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
