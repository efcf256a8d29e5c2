"""What others ask of a run while it goes on, done and recorded; see `evals.control`."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from prime_cli.core.errors import Conflict, NotFound
from prime_cli.core.formatting import pluralize
from prime_cli.core.progress import Task
from prime_cli.evals.control.messages import ControlRequest, RunState
from prime_cli.evals.execution.progress_line import LOADING
from prime_cli.evals.execution.recorder import EventFilter, Recorder
from prime_cli.evals.execution.session import EvalSession
from prime_cli.evals.planning.cost import require_above, require_prices
from prime_cli.models.gateway.server import Gateway
from prime_cli.models.prices import Budget, Spend
from prime_cli.runs.plan import RunChange
from prime_cli.runs.spending import sum_of
from prime_cli.runs.tally import RolloutKey
from prime_cli.runs.work_list import GROUP, WorkList
from prime_cli.runtime.launch import Worker
from prime_cli.runtime.protocol import DropRollouts, Order, Rollout, RunRollouts, Start, Steer

if TYPE_CHECKING:
    from prime_cli.evals.execution.ray.fleet import Fleet


class RunController:
    """Controls one session; `work` is what its worker has to do, changed by a retry."""

    def __init__(
        self, session: EvalSession, gateway: Gateway, recorder: Recorder, task: Task
    ) -> None:
        self._session = session
        self._gateway = gateway
        self._recorder = recorder
        self._task = task
        self._worker: Worker | Fleet | None = None
        self._filter: EventFilter
        self._start: Start | None = None
        self._cancelled: set[RolloutKey] = set()
        self._paused_by = ""
        self._is_over = False
        self.work: WorkList = session.work

    def is_draining(self) -> bool:
        """Whether nothing more is to start."""
        return self._session.outcome.drained is not None

    @property
    def words(self) -> str:
        """What holds the run up, for its progress line."""
        return f"paused by {self._paused_by}" if self._gateway.hold.is_paused else ""

    async def attach(self, worker: "Worker | Fleet", events: EventFilter, work: WorkList) -> None:
        """Steer this worker from now on, which has just been started for `work`."""
        self._worker, self._filter, self.work = worker, events, work
        # It may have been changed since the worker was told.
        concurrency = self._session.restarts.concurrency
        is_changed = concurrency != work.concurrency
        if is_changed or self._gateway.hold.is_paused or self.is_draining():
            await self._steer(concurrency)

    def end(self) -> None:
        """Change nothing any more: there is no worker, nor will be."""
        self._is_over = True

    def begin(self, start: Start) -> None:
        """Note what the loaded environment has."""
        self._start = start

    def ignores(self, event: Rollout) -> bool:
        """Whether a rollout was given up before it ended."""
        pair = event.example_id, event.rollout
        return pair in self._cancelled or event.attempt < self._session.restarts.attempt(pair)

    async def answer(self, request: ControlRequest) -> RunState:
        """Do what is asked, record it, and return the state after it; raises PrimeError."""
        if request.action != "status":
            self._require_open()
            change = await self._do(request, self._change(request))
            self._session.record.note_change(change)
            self._session.progress.say(f"{change.by}: {change.words}")
        return self._state()

    # --- Actions ---

    async def _do(self, request: ControlRequest, change: RunChange) -> RunChange:
        hold = self._gateway.hold
        match request.action:
            case "pause":
                if self.is_draining():
                    raise Conflict("The run is draining", hint="wait for its end, and resume it")
                self._paused_by = change.by
                hold.pause()
                await self._steer()
            case "resume":
                hold.resume()
                await self._steer()
            case "drain":
                self._session.outcome.drained = f"Drained by {change.by}"
                hold.resume()
                await self._steer()
            case "set":
                await self._set(request)
            case "cancel":
                return await self._cancel(request, change)
            case _:
                return await self._retry(request, change)
        return change

    async def _set(self, request: ControlRequest) -> None:
        request.require_limits()
        concurrency, cap = request.concurrency, request.max_cost
        if cap is not None:
            self._limit(cap)
        if concurrency is not None and self._session.restarts.limit(concurrency):
            await self._steer(concurrency)

    def _limit(self, cap: float) -> None:
        hold, spent = self._gateway.hold, self._spent()
        require_above(cap, spent, "run")
        setup = self._session.setup
        require_prices(cap, setup.prepared.endpoint, setup.prices)
        if hold.budget is None:
            self._gateway.ledger.budget = budget = Budget(cap, None, spent)
            hold.adopt(budget)
        else:
            hold.budget.limit(cap)

    async def _cancel(self, request: ControlRequest, change: RunChange) -> RunChange:
        has = self._session.restarts.has
        pairs = [pair for pair in self._named(request) if not has(pair)]
        if not pairs:
            raise Conflict("It has ended already", hint="see it with `prime eval show --example I`")
        attempt = max(self._session.restarts.attempt(pair) for pair in pairs)
        example, rollouts = pairs[0][0], [rollout for _, rollout in pairs]
        await self._tell(DropRollouts(example, rollouts))
        for pair in pairs:
            self._recorder.cancel(pair, attempt, change.by)
        self._cancelled.update(pairs)
        return _with(change, pairs)

    async def _retry(self, request: ControlRequest, change: RunChange) -> RunChange:
        session, start = self._session, self._start
        origin = session.setup.prepared.origin
        if self.is_draining() or (origin is not None and origin.rescored_of is not None):
            raise Conflict("This run starts no rollout", hint="start another with `prime eval run`")
        named = self._named(request)
        lasts = {pair: session.tally.find(pair) for pair in named if session.restarts.has(pair)}
        pairs = [pair for pair, last in lasts.items() if last is not None and not last.scored]
        if not pairs:
            raise Conflict(
                "Only what was cancelled or ended in an error is run again, and this did not",
                hint="see which did: `prime eval show --errors`",
            )
        if start is not None and start.unit == GROUP:
            pairs = named
        self.work = session.restarts.owe(pairs)
        self._filter.expect_again(pairs, self.work)
        self._cancelled.difference_update(pairs)
        self._task.advance(-len(pairs))
        attempt = session.restarts.attempt(pairs[0])
        await self._tell(RunRollouts(pairs[0][0], [rollout for _, rollout in pairs], attempt))
        return _with(change, pairs, attempt)

    def _named(self, request: ControlRequest) -> list[RolloutKey]:
        """The rollouts that are meant: of a group, which is scored together, all of it."""
        start, plan = self._start, self._session.setup.plan
        if start is None:
            raise Conflict("The environment still loads", hint="try again in a moment")
        counted = range(start.examples)
        numbers: Sequence[int] = counted if start.numbers is None else start.numbers
        numbers = numbers if plan.shard is None else plan.shard.of(numbers)
        example, rollout, size = request.example, request.rollout, plan.rollouts_per_example
        if example is None or example not in numbers:
            raise NotFound(
                f"This run has no example {example}", hint="see them with `prime eval show`"
            )
        if rollout is not None and not 0 <= rollout < size:
            there = pluralize(size, "rollout")
            raise NotFound(f"Example {example} has {there}", hint=f"name 0 to {size - 1}")
        if rollout is None or start.unit == GROUP:
            return [(example, number) for number in range(size)]
        return [(example, rollout)]

    # --- The worker ---

    async def _steer(self, concurrency: int | None = None) -> None:
        is_held = self._gateway.hold.is_paused
        await self._tell(Steer(concurrency, held=is_held, draining=self.is_draining()))

    async def _tell(self, order: Order) -> None:
        if isinstance(self._worker, Worker):
            await self._worker.tell(order)

    def _require_open(self) -> None:
        stops = self._gateway.hold.is_closed or self._session.outcome.signal is not None
        if stops or self._is_over:
            raise Conflict("The run is ending", hint="see it with `prime eval show`")
        if self._session.setup.plan.ray is not None:
            raise Conflict(
                "A run on a cluster of Ray tells its state, and cannot be steered",
                hint="stop it with Ctrl-C, and continue it with `prime eval run --resume`",
            )

    # --- State ---

    def _change(self, request: ControlRequest) -> RunChange:
        at = datetime.now(UTC).isoformat(timespec="seconds")
        by = self._session.setup.scrub.text(request.by)
        return RunChange(at, by, request.action, request.concurrency, request.max_cost)

    def _spent(self) -> Spend:
        return sum_of(self._session.earlier.spent.values()) + self._gateway.ledger.spent()

    def _state(self) -> RunState:
        session, tally, hold = self._session, self._session.tally, self._gateway.hold
        state = "draining" if self.is_draining() else "paused" if hold.is_paused else "running"
        open_ones = set(self._gateway.ledger.open) - self._cancelled
        return RunState(
            run_id=session.setup.run_id,
            path=str(session.setup.folder.path.absolute()),
            state=state,
            done=tally.scored,
            total=None if self._start is None else self._start.planned,
            running=len(open_ones),
            errors=tally.errored,
            cancelled=tally.cancelled,
            concurrency=session.record.plan.concurrency,
            max_cost=None if hold.budget is None else hold.budget.max_cost,
            spent=self._spent().usd,
            eta=None if hold.is_paused else self._recorder.seconds_left,
            note=self.words or self._recorder.note or ("" if self._start else LOADING),
        )


def _with(change: RunChange, pairs: Sequence[RolloutKey], attempt: int | None = None) -> RunChange:
    return RunChange(change.at, change.by, change.action, rollouts=tuple(pairs), attempt=attempt)
