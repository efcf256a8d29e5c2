"""What others ask of a training while it goes on, done and recorded; see `evals.control`."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Protocol

import msgspec

from prime_cli.core.errors import Conflict, PrimeError, UsageError
from prime_cli.core.formatting import format_number, join_words
from prime_cli.evals.control.client import RunControl
from prime_cli.evals.control.messages import Action, ControlRequest, RunState
from prime_cli.evals.planning.cost import require_above
from prime_cli.models.prices import Spend
from prime_cli.runs.manifest import RUNNING
from prime_cli.runs.plan import RunChange
from prime_cli.runs.saved_run import open_run
from prime_cli.training.environment_session import EnvironmentSession
from prime_cli.training.evaluation import EVALUATIONS
from prime_cli.training.record import TrainingFacts, typed_name


class DrainedTraining(Protocol):
    """What a controller needs of the engine's side: `engine_training.EngineTraining`."""

    @property
    def facts(self) -> TrainingFacts:
        """Its plan, and how far it is."""

    def drain(self) -> None:
        """End after the running step and its checkpoint; raises Conflict before the first one."""


class TrainingController:
    """Controls the rollouts of a session; without a `training`, those of another trainer."""

    def __init__(
        self, parts: Sequence[EnvironmentSession], training: DrainedTraining | None
    ) -> None:
        self._parts, self._training = parts, training
        self._first = parts[0]
        self._paused_by = ""
        self._name = typed_name(self._first.setup.folder.path, self._first.setup.context.cwd)

    @property
    def is_paused(self) -> bool:
        """Whether rollouts wait until somebody resumes them."""
        return self._first.hold.is_paused

    async def answer(self, request: ControlRequest) -> RunState:
        """Do what is asked, record it, and return the state after it; raises PrimeError."""
        if request.action != "status":
            if any(part.hold.is_closed for part in self._parts):
                look = f"see it with `prime train show {self._name}`"
                raise Conflict("The training is ending", hint=look)
            change = await self._do(request, self._change(request))
            self._first.record.note_change(change)
            for part in self._parts[1:] if change.concurrency is not None else ():
                part.record.note_change(change)  # each has a plan of its own
            self._first.setup.context.progress.say(f"{change.by}: {change.words}")
        return self._state()

    # --- Actions ---

    async def _do(self, request: ControlRequest, change: RunChange) -> RunChange:
        rows = self._training is not None and self._training.facts.plan.data is not None
        if rows and request.action != "drain":
            raise Conflict(
                "This training learns from saved rollouts, and makes none",
                hint="end it after the running step with `prime eval ctl drain`",
            )
        match request.action:
            case "pause":
                if self._first.outcome.drained is not None:
                    raise Conflict("The training is draining", hint="wait for its end")
                self._paused_by = change.by
                await self._hold("pause")
            case "resume":
                await self._hold("resume")
            case "drain":
                await self._drain(change)
            case "set":
                await self._set(request)
            case "cancel":
                return await self._cancel(request, change)
            case _:
                raise Conflict(
                    "A training runs no rollout again: each step makes new ones",
                    hint=f"see what failed with `prime eval show {self._name} --errors`",
                )
        return change

    async def _hold(self, action: Action) -> None:
        for part in self._parts:
            await part.steer(is_held=action == "pause")
        # An evaluation on held-out examples is a run of its own.
        await asyncio.to_thread(self._steer_evaluations, ControlRequest(action))

    def _steer_evaluations(self, request: ControlRequest) -> None:
        for part in self._parts:
            for manifest in part.setup.folder.path.glob(EVALUATIONS):
                saved = open_run(manifest.parent)
                if saved.status == RUNNING:
                    with suppress(PrimeError):  # it begins or ends just now
                        RunControl(saved).ask(request)

    async def _drain(self, change: RunChange) -> None:
        if self._training is None:
            raise Conflict(
                "Another trainer asks for these rollouts, and decides when its steps end",
                hint="stop that trainer, then the service with Ctrl-C",
            )
        self._training.drain()
        self._first.outcome.drained = f"Drained by {change.by}"
        if self.is_paused:
            await self._hold("resume")

    async def _set(self, request: ControlRequest) -> None:
        request.require_limits()
        concurrency, cap = request.concurrency, request.max_cost
        if cap is not None:
            self._limit(cap)
        for part in self._parts if concurrency is not None else ():
            await part.steer(concurrency, is_held=self.is_paused)

    def _limit(self, cap: float) -> None:
        budget = self._first.hold.budget
        if budget is None or budget.max_cost is None:
            raise Conflict(
                "This training has no cap that could be changed: its own model costs nothing",
                hint="for its judges, drain it, then "
                f"`prime train --resume {self._name} --max-cost {format_number(cap)}`",
            )
        require_above(cap, budget.spent, "training")
        budget.limit(cap)

    async def _cancel(self, request: ControlRequest, change: RunChange) -> RunChange:
        example, rollout = request.example, request.rollout
        if example is None:
            raise UsageError("Name an example", hint="as in `3` or `3:0`")
        found = [part for part in self._parts if part.demand.owes(example, rollout)]
        which = f"{example}" if rollout is None else f"{example}:{rollout}"
        if not found:
            raise Conflict(
                f"No rollout {which} is running",
                hint=f"it may have ended: see `prime eval show {self._name} --example {example}`",
            )
        if len(found) > 1:
            names = join_words([part.name for part in found])
            raise Conflict(
                f"{which} is running in {names}", hint="wait until one of them has ended"
            )
        pairs = await found[0].demand.cancel(example, rollout, change.by)
        return msgspec.structs.replace(change, rollouts=tuple(pairs))

    # --- State ---

    def _change(self, request: ControlRequest) -> RunChange:
        at = datetime.now(UTC).isoformat(timespec="seconds")
        by = self._first.setup.scrub.text(request.by)
        return RunChange(at, by, request.action, request.concurrency, request.max_cost)

    def _spent(self) -> Spend:
        budget = self._first.hold.budget
        if budget is not None:
            return budget.spent
        return sum((part.spent for part in self._parts), Spend())

    def _state(self) -> RunState:
        first, parts = self._first, self._parts
        is_draining, budget = first.outcome.drained is not None, first.hold.budget
        state = "draining" if is_draining else "paused" if self.is_paused else "running"
        facts = None if self._training is None else self._training.facts
        return RunState(
            run_id=first.setup.run_id,
            path=str(first.setup.folder.path.absolute()),
            state=state,
            done=sum(part.tally.scored for part in parts),
            total=None,
            running=sum(part.running for part in parts),
            errors=sum(part.tally.errored for part in parts),
            cancelled=sum(part.tally.cancelled for part in parts),
            concurrency=first.record.plan.concurrency,
            max_cost=None if budget is None else budget.max_cost,
            spent=self._spent().usd,
            eta=None,
            note=f"paused by {self._paused_by}" if self.is_paused else "",
            step=None if facts is None else facts.step,
            steps=None if facts is None else facts.steps,
        )
