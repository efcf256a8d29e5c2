"""Takes a worker's events and keeps them: journal first, then tally, then the progress line."""

from collections.abc import Callable

from prime_cli.core.progress import Task
from prime_cli.evals.journal import Journal
from prime_cli.evals.rows import Failure, Row
from prime_cli.evals.tally import Tally
from prime_cli.models.usage import Usage
from prime_cli.runtime.protocol import Rollout

UsageOf = Callable[[int, int, int], Usage]
"""Tokens that the policy used for (example, rollout, attempt), as the gateway counted them."""


class Recorder:
    """Makes a row of every finished rollout; a row is on disk before it is counted."""

    def __init__(self, journal: Journal, tally: Tally, task: Task, usage_of: UsageOf) -> None:
        self._journal = journal
        self._tally = tally
        self._task = task
        self._usage_of = usage_of

    def record(self, event: Rollout) -> None:
        """Keep one rollout; raises StorageFailed when it cannot be written."""
        row = row_of(event, self._usage_of(event.example_id, event.rollout, event.attempt))
        before = self._tally.finished
        self._journal.append(row)
        self._tally.add(row)
        self._task.advance(self._tally.finished - before)
        self._task.update(note=progress_note(self._tally))


def progress_note(tally: Tally) -> str:
    """The running mean and the errors, for beside the bar."""
    mean = tally.running_mean
    words = "no reward yet" if mean is None else f"reward {mean:.3f}"
    if tally.errored:
        words += f", {tally.errored} error{'s' if tally.errored > 1 else ''}"
    return words


def row_of(event: Rollout, usage: Usage) -> Row:
    """The journal's row for a worker's event.

    A rollout that has neither reward nor error (its reward was not a number) is an error of the
    environment.
    """
    failure = None
    if event.error is not None:
        error = event.error
        failure = Failure(error.kind, error.type, error.message, error.retryable, error.traceback)
    elif event.reward is None:
        failure = Failure("environment", "NoReward", "The reward is not a finite number")
    return Row(
        example_id=event.example_id,
        rollout=event.rollout,
        attempt=event.attempt,
        reward=None if failure else event.reward,
        metrics=event.metrics,
        prompt=event.prompt,
        completion=event.completion,
        answer=event.answer,
        info=event.info,
        task=event.task,
        error=failure,
        timing=event.timing,
        usage=_tokens(event, usage),
        stop_condition=event.stop_condition,
        is_truncated=event.is_truncated,
        state=event.state,
    )


def _tokens(event: Rollout, usage: Usage) -> dict[str, int] | None:
    """The gateway's count; the worker's own where no call came through the gateway."""
    if usage.calls:
        return usage_counts(usage)
    if event.usage is not None:
        return {"input": event.usage.input, "output": event.usage.output}
    return None


def usage_counts(usage: Usage) -> dict[str, int]:
    """Usage as it is written down: what is zero and optional is left out."""
    counts = {"calls": usage.calls, "input": usage.input, "output": usage.output}
    optional = {
        "cached": usage.cached,
        "reasoning": usage.reasoning,
        "uncounted": usage.uncounted,
        "estimated": usage.estimated,
    }
    return counts | {name: count for name, count in optional.items() if count}
