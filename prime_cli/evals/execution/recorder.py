"""Receives a worker's events, refuses unrequested ones, and stores the others.

A row goes to the journal first, then to the tally, then to the progress line.
"""

import time
from collections.abc import Callable, Collection
from typing import Any, Protocol

import msgspec

from prime_cli.core.errors import EnvironmentFailed
from prime_cli.core.progress import Task
from prime_cli.evals.execution.progress_line import Pace, progress_note
from prime_cli.models.gateway.calls import POLICY
from prime_cli.models.prices import Charges, Spend, add_charges
from prime_cli.runs.folder import Journal
from prime_cli.runs.plan import ALL, EvalPlan
from prime_cli.runs.rows import CANCELLED, LARGEST, SCORED, Failure, Row
from prime_cli.runs.spending import counts_of, sum_of, write_charges
from prime_cli.runs.tally import RolloutKey, Tally
from prime_cli.runs.work_list import GROUP, WorkList
from prime_cli.runtime.causes import with_cause
from prime_cli.runtime.protocol import Rollout, RolloutError, Start

MOST_ROLLOUTS = 10_000_000
"""The most for one run; they are kept in memory."""

_HOST_REFUSED = "HostRefused"
"""The type of the worker's own error for a connection past the gateway."""
_LONGEST_TYPE, _LONGEST_MESSAGE, _LONGEST_TRACE = 1000, 10_000, 1_000_000
"""Characters of an error. The worker cuts earlier; one that an environment has changed may not."""


class EventFilter:
    """Accepts the events of one worker that belong to its `work`.

    An environment scores itself, and can lie about its own rollouts. But it cannot report others:
    those of examples that are not run, or that are already scored.
    """

    def __init__(self, plan: EvalPlan, work: WorkList) -> None:
        self._plan = plan
        self._work = work
        self._done = set(work.done)
        self._numbers: Collection[int] | None = None
        self._unit = ""

    def begin(self, start: Start) -> None:
        """Note the number of examples; raises EnvironmentFailed."""
        most = self._plan.num_examples
        rollouts, shard = self._plan.rollouts_per_example, self._plan.shard
        counted = range(start.examples)
        owned = counted if shard is None else shard.of(counted)
        if (
            self._numbers is not None
            or not 0 <= start.examples <= MOST_ROLLOUTS // rollouts
            or (most != ALL and start.examples > most)
            or start.planned != len(owned) * rollouts
            or not 0 <= start.owed <= start.planned
        ):
            raise self._refused(f"{start.examples} examples, {start.planned} rollouts")
        chosen = self._plan.example_numbers
        allowed = counted if chosen is None else chosen
        numbers = counted if start.numbers is None else frozenset(start.numbers)
        foreign = numbers != allowed and any(number not in allowed for number in numbers)
        if foreign or len(numbers) != start.examples:
            raise self._refused(f"the examples {sorted(numbers)[:5]}")
        self._numbers, self._unit = numbers, start.unit
        if shard is not None:
            self._numbers = frozenset(shard.of(start.numbers or counted))

    def expect_again(self, pairs: Collection[RolloutKey], work: WorkList) -> None:
        """Accept another attempt at `pairs`, as `work` has it."""
        self._done.difference_update(pairs)
        self._work = work

    def check(self, event: Rollout) -> None:
        """Raise EnvironmentFailed for an unrequested rollout."""
        pair = event.example_id, event.rollout
        of_this_run = pair[0] in (self._numbers or ())
        there = of_this_run and 0 <= pair[1] < self._plan.rollouts_per_example
        if not there or self._is_done(pair) or not self._is_due(event):
            raise self._refused(f"rollout {pair[1]} of example {pair[0]}, attempt {event.attempt}")

    def _is_done(self, pair: RolloutKey) -> bool:
        if self._unit != GROUP:
            return pair in self._done
        # A group that lacks one rollout is run whole.
        rollouts = range(self._plan.rollouts_per_example)
        return all((pair[0], rollout) in self._done for rollout in rollouts)

    def _is_due(self, event: Rollout) -> bool:
        attempts = self._work.attempts
        rollouts = range(self._plan.rollouts_per_example)
        # A group goes by the attempt of the one among it that was tried most often.
        last = max(attempts.get((event.example_id, rollout), 1) for rollout in rollouts)
        first = attempts.get((event.example_id, event.rollout), 1)
        return first <= event.attempt <= last + self._plan.max_retries

    def _refused(self, what: str) -> EnvironmentFailed:
        return EnvironmentFailed(
            f"`{self._plan.environment.name}` reported something not requested: {what[:200]}",
            hint="its code writes to the worker's event pipe: do not trust it",
        )


RowFinder = Callable[[int, int], Row | None]
"""Finds the last journaled attempt at a rollout of an example."""


class SpendSource(Protocol):
    """The gateway's counts; each call's spend is taken once."""

    def settle(self, example: int, rollout: int) -> Charges:
        """Take what all attempts at a rollout have used since the last call."""

    def settle_apart(self) -> Charges:
        """Take what calls outside of rollouts have used since the last call."""

    def spent(self) -> Spend:
        """What the whole run has used so far, settled or not."""


class Recorder:
    """Makes a row of every finished rollout; a row is on disk before it is counted.

    `journaled` is the sum of the rows' spend. `saved` finds a rollout's answer from an earlier
    session.
    """

    def __init__(
        self,
        journal: Journal,
        tally: Tally,
        task: Task,
        ledger: SpendSource,
        saved: RowFinder = lambda *_: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._journal = journal
        self._tally = tally
        self._task = task
        self._ledger = ledger
        self._saved = saved
        self.journaled: Charges = {}
        self._clock = clock
        self._pace: Pace | None = None
        self._recorded = 0
        self.note = ""
        """The text beside the bar."""

    def record(
        self, event: Rollout, again: str | None = None, *, is_cancelled: bool = False
    ) -> Row:
        """Store one rollout and return its row; raises StorageFailed if it cannot be written.

        `again` is why the attempt is not the first one (`Row.again`).
        """
        if again == SCORED:  # tokens and times of the rollout are those of the attempt before
            scoring = {name: s for name, s in event.timing.items() if name == "scoring"}
            event = msgspec.structs.replace(event, usage=None, timing=scoring)
        charges = self._ledger.settle(event.example_id, event.rollout)
        apart = self._ledger.settle_apart()
        row = row_of(event, charges, apart, again=again)
        if again == SCORED and row.error is not None and not row.error.in_scoring:
            row = self._with_saved(row)
        if is_cancelled and row.error is not None:
            row.error = msgspec.structs.replace(row.error, kind=CANCELLED)
        self._journal.append(row)
        add_charges(self.journaled, charges)
        add_charges(self.journaled, apart)
        if self._tally.add(row):
            self._task.advance()
        self._recorded += 1
        spent = self._ledger.spent()
        speed = self._pace.speed(spent) if self._pace is not None else None
        self.note = progress_note(self._tally, spent, left=self.seconds_left, speed=speed)
        self._task.update(note=self.note)
        return row

    def cancel(self, pair: RolloutKey, attempt: int, by: str) -> None:
        """Store that the user `by` has cancelled a rollout; raises StorageFailed."""
        error = RolloutError(kind="environment", type="Cancelled", message=f"Cancelled by {by}")
        event = Rollout(example_id=pair[0], rollout=pair[1], attempt=attempt, error=error)
        self.record(event, is_cancelled=True)

    @property
    def seconds_left(self) -> float | None:
        """Seconds that the rest takes; None before the first rollouts tell it."""
        return None if self._pace is None else self._pace.seconds_left(self._recorded)

    def expect(self, owed: int, concurrency: int) -> None:
        """So many rollouts of this session are still to be recorded, counted from now on."""
        if self._pace is None:
            self._pace = Pace(owed, concurrency, self._ledger.spent(), self._clock)

    def _with_saved(self, row: Row) -> Row:
        """`row`, which could not be rescored, with its saved answer."""
        saved = self._saved(row.example_id, row.rollout)
        if saved is None or row.error is None:
            return row
        return msgspec.structs.replace(
            saved,
            attempt=row.attempt,
            again=row.again,
            error=msgspec.structs.replace(row.error, in_scoring=True),
            reward=None,
            metrics={},
            timing=row.timing,
            usage=row.usage,
            judges=row.judges,
            cost=row.cost,
            apart=row.apart,
        )


def row_of(
    event: Rollout,
    charges: Charges,
    apart: Charges | None = None,
    *,
    again: str | None = None,
) -> Row:
    """The journal's row for a worker's event, which used `charges`."""
    failure = _failure_of(event)
    policy = [spend for payer, spend in charges.items() if payer.role == POLICY]
    judges = {payer: spend for payer, spend in charges.items() if payer.role != POLICY}
    return Row(
        example_id=event.example_id,
        rollout=event.rollout,
        attempt=event.attempt,
        again=again,
        reward=None if failure else event.reward,
        metrics=event.metrics,
        prompt=event.prompt,
        completion=event.completion,
        answer=event.answer,
        info=event.info,
        task=event.task,
        error=failure,
        timing=event.timing,
        usage=counts_of(sum_of(policy)) if policy else _own_count(event),
        judges=write_charges(judges),
        cost=_cost(event, charges),
        apart=write_charges(apart or {}),
        stop_condition=event.stop_condition,
        is_truncated=event.is_truncated,
        state=event.state,
    )


def _failure_of(event: Rollout) -> Failure | None:
    """Why there is no score; one that is not a number is an error of the environment."""
    if (error := event.error) is not None:
        message, trace = error.message[:_LONGEST_MESSAGE], (error.traceback or "")[-_LONGEST_TRACE:]
        # What prime refused is the cause itself.
        hides = error.kind == "environment" and error.type != _HOST_REFUSED
        return Failure(
            error.kind,
            error.type[:_LONGEST_TYPE],
            with_cause(message, trace) if hides else message,
            error.retryable,
            trace or None,
            error.in_scoring,
        )
    if event.reward is None:
        told = "The reward is not a finite number"
    elif abs(event.reward) > LARGEST:
        told = f"The reward is beyond {LARGEST}"
    else:
        return None
    return Failure("environment", "NoReward", told, in_scoring=True)


def _own_count(event: Rollout) -> dict[str, Any] | None:
    """The worker's count, if no call of the policy came through the gateway."""
    if event.usage is None:
        return None
    return {"input": event.usage.input, "output": event.usage.output}


def _cost(event: Rollout, charges: Charges) -> float | None:
    """USD for all roles; None if unknown, as for calls that bypassed the gateway."""
    past = event.usage is not None and bool(event.usage.input or event.usage.output)
    if past and not any(payer.role == POLICY for payer in charges):
        return None
    return sum_of(charges.values()).usd
