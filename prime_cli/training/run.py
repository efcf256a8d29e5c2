"""One training from plan to verdict: engine, rollouts, steps, evaluations.

A session is one process of prime that works on a training until it ends or is stopped.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec

from prime_cli.core.errors import (
    Conflict,
    EngineFailed,
    EnvironmentFailed,
    PrimeError,
    StorageFailed,
    error_classes,
)
from prime_cli.core.formatting import format_duration, pluralize
from prime_cli.core.progress import Progress, Task
from prime_cli.evals.execution.earlier_sessions import EarlierSessions, read_earlier_sessions
from prime_cli.evals.execution.early_stop import SignalRouter
from prime_cli.evals.execution.interpreter import choose_interpreter
from prime_cli.evals.execution.run import set_up_run
from prime_cli.evals.execution.setup import RunContext, RunSetup, grant_access
from prime_cli.evals.planning.cost import budget_of
from prime_cli.runs.folder import (
    Journal,
    RunFolder,
    new_run_folder,
    read_journal,
    run_group_name,
    writing,
)
from prime_cli.runs.manifest import CAPPED, FAILED, FINISHED, INTERRUPTED
from prime_cli.runtime.protocol import Start
from prime_cli.serving.launch import RunningEngine
from prime_cli.training.engines.launch import EngineFiles
from prime_cli.training.evaluation import EVALUATED, HeldOut, evaluate, hold_out, judge
from prime_cli.training.plan import TrainingPlan
from prime_cli.training.prepare import PreparedTraining, engine_config
from prime_cli.training.record import (
    STOP,
    SavedTraining,
    TrainingFacts,
    TrainingRecord,
    last_checkpoint,
)
from prime_cli.training.session import RolloutSession, ServiceOptions, run_loop
from prime_cli.training.step_checks import StepChecks
from prime_cli.training.trainer_events import forget_steps_after
from prime_cli.wire.rollouts import EngineFailure, Evaluated, StepAnswer

_HOUR = 3600.0
_OUT_OF_MEMORY = ("SIGKILL", "out of memory", "OutOfMemory", "MemoryError")


@dataclass(frozen=True)
class TrainingResult:
    """A training that has ended; `signal` is the number of the signal that ended it early.

    It `is_finished` unless something is left for `--resume`.
    """

    folder: RunFolder
    facts: TrainingFacts
    is_finished: bool
    signal: int | None = None

    @property
    def is_whole(self) -> bool:
        """Whether all steps were done."""
        return self.facts.step >= self.facts.steps


def train(
    prepared: PreparedTraining,
    python: Path,
    context: RunContext,
    resumed: SavedTraining | None = None,
) -> TrainingResult:
    """Train in a new folder, or go on where a training was stopped.

    Raises what keeps it from being done; checkpoints are kept.
    """
    router = SignalRouter()
    with router.listening():
        context = replace(context, switchboard=router)
        plan = prepared.rollouts.plan
        access = grant_access(prepared.rollouts, context)
        interpreter = choose_interpreter(
            plan, prepared.rollouts.subject, context, access.sandbox, variables=access.variables
        )
        if resumed is None:
            group = run_group_name(plan.environment.name, plan.model)
            outputs = plan.option("output_dir") or "outputs"
            folder = new_run_folder(context.cwd / outputs / "train" / group)
        else:
            folder = RunFolder(resumed.folder)
        setup = set_up_run(prepared.rollouts, interpreter, access, context, budget_of(plan), folder)
        return train_with(setup, prepared, python, goes_on=resumed is not None)


def train_with(
    setup: RunSetup, prepared: PreparedTraining, python: Path, *, goes_on: bool = False
) -> TrainingResult:
    """The same in a folder, with an interpreter that has the environment."""
    with writing(setup.folder):
        earlier = read_earlier_sessions(setup.folder) if goes_on else EarlierSessions()
        return _train(setup, earlier, prepared, python)


def _train(
    setup: RunSetup, earlier: EarlierSessions, prepared: PreparedTraining, python: Path
) -> TrainingResult:
    folder, plan = setup.folder, prepared.plan
    found = last_checkpoint(folder)
    step, checkpoint = found or (0, None)
    before = None if earlier.manifest is None else earlier.manifest.training
    facts = TrainingFacts(plan=plan)
    if before is not None and before is not msgspec.UNSET:
        facts = msgspec.convert(before, TrainingFacts)
        kept = tuple(each for each in facts.evaluations if checkpoint and each.step <= step)
        # What was found after the checkpoint will be found again.
        finished_at = facts.finished_at if facts.finished_at == step else None
        facts = msgspec.structs.replace(
            facts, plan=plan, step=step, finished_at=finished_at, evaluations=kept
        )
    record = TrainingRecord(setup, earlier, facts)
    record.open()
    forget_steps_after(step, folder.path)
    (folder.path / STOP).unlink(missing_ok=True)
    files = EngineFiles(prepared.engine, python, folder.path)
    training = EngineTraining(setup, record, files, plan, checkpoint)
    numbers = _next_numbers(folder, step) if checkpoint else {}
    options = ServiceOptions(has_policy=False, training=training, numbers=numbers)
    with Journal(folder.journal, setup.scrub) as journal:
        session = RolloutSession(setup, options, journal, record, earlier.tally)
        try:
            with setup.context.progress.task(_title(setup), total=plan.steps) as task:
                training.show_on(task, step)
                signal = run_loop(session.run(lambda *_: None))
        except BaseException as failure:
            if isinstance(failure, PrimeError):
                _name_checkpoint(folder, failure)
            status = FAILED if session.outcome.capped is None else CAPPED
            with suppress(StorageFailed):  # the first failure is the one to tell
                record.close(session.outcome, status, failure, on_demand=True)
            raise
        status = FINISHED if training.is_whole else INTERRUPTED
        record.close(session.outcome, status, on_demand=True)
    return TrainingResult(folder, record.facts, training.is_whole, signal)


def _name_checkpoint(folder: RunFolder, failure: PrimeError) -> None:
    found = last_checkpoint(folder)
    if found is not None:
        named = f"the last checkpoint is {found[1]}"
        failure.hint = named if failure.hint is None else f"{failure.hint}; {named}"


def _title(setup: RunSetup) -> str:
    return f"{setup.plan.environment.name} with {setup.plan.model}"


def _next_numbers(folder: RunFolder, step: int) -> Mapping[int, int]:
    """The numbers of the next rollouts after `step` steps: those of later ones are used again."""
    numbers: Counter[int] = Counter()
    for row in read_journal(folder.journal):
        if row.state.get("step", 0) <= step:
            numbers[row.example_id] = max(numbers[row.example_id], row.rollout + 1)
    return numbers


class EngineTraining:
    """`session.Training`: the engine's process, and what prime does as it goes on."""

    def __init__(
        self,
        setup: RunSetup,
        record: TrainingRecord,
        files: EngineFiles,
        plan: TrainingPlan,
        checkpoint: Path | None,
    ) -> None:
        self._setup, self._record, self._files = setup, record, files
        self._plan, self._checkpoint = plan, checkpoint
        self._progress: Progress = setup.context.progress
        self._session: RolloutSession
        self._held: HeldOut | None = None
        self._failure: PrimeError | None = None
        self._stopping = self._evaluation_stopped = False
        self._ended = asyncio.Event()
        self._task: Task | None = None
        self._began = time.monotonic()
        self._first_step = record.facts.step
        self._checks = StepChecks(setup.folder.path)

    @property
    def is_whole(self) -> bool:
        """Whether all steps were done, and evaluated if that is planned."""
        facts = self._record.facts
        is_evaluated = any(each.step >= facts.steps for each in facts.evaluations)
        return facts.step >= facts.steps and (is_evaluated or not self._plan.eval_examples)

    def show_on(self, task: Task, step: int) -> None:
        """Show the steps on `task`; `step` of them were done by earlier sessions."""
        self._task = task
        task.advance(step)

    # --- The engine ---

    async def run(self, session: RolloutSession, url: str, token: str) -> None:
        """Run the engine until it ends; raises the failure that it reported, or EngineFailed."""
        self._session = session
        launch = self._files.launch(
            engine_config(self._plan, self._record.facts.steps, self._checkpoint),
            self._setup.context.environ,
            url=url,
            token=token,
            report=self._plan.report,
        )
        try:
            with RunningEngine(launch) as engine:
                watching = asyncio.ensure_future(self._watch(engine))
                waiting = asyncio.ensure_future(asyncio.to_thread(engine.wait_for_success))
                # It also fails where the engine is ended here, and nobody waits for it any more.
                waiting.add_done_callback(lambda ended: ended.cancelled() or ended.exception())
                try:
                    await asyncio.wait((watching, waiting), return_when=asyncio.FIRST_COMPLETED)
                    if watching.done():
                        await watching
                    await waiting
                finally:
                    watching.cancel()
        except EngineFailed as failure:
            if self._failure is None and self._evaluation_stopped:
                return  # which TRL and others only end by
            raise self._explained(failure) from failure
        finally:
            self._ended.set()
        if self._failure is not None:
            raise self._failure
        if self.is_whole:
            self._finish()
        elif not self._stopping:
            raise self._explained(
                EngineFailed(
                    f"{self._files.engine.title} ended {self._where()}",
                    hint=f"see {self._files.log}",
                )
            )

    def _where(self) -> str:
        facts = self._record.facts
        if facts.step < facts.steps:
            return f"after {facts.step} of {facts.steps} steps"
        return "after the last step, before its evaluation"

    def _explained(self, failure: EngineFailed) -> PrimeError:
        """What the engine reported, else its `failure` with what the user can do."""
        if self._failure is not None:
            return self._failure
        last_words = f"{failure.message}\n{failure.detail}"
        if any(word in last_words for word in _OUT_OF_MEMORY):
            failure.hint = f"use less: `--batch`, `-t` or `--lora`; see {self._files.log}"
        return failure

    async def _watch(self, engine: RunningEngine) -> None:
        """Raise EngineFailed if nothing has happened for too long."""
        last, seen = time.monotonic(), (-1, -1, -1)
        while True:
            await asyncio.sleep(1.0)
            if self._session.recorder.failure is not None:
                self._failure = self._session.recorder.failure
                raise self._failure
            evaluated = sum(path.stat().st_size for path in self._setup.folder.path.glob(EVALUATED))
            now = self._session.counts.rollouts, self._record.facts.step, evaluated
            if now != seen:
                last, seen = time.monotonic(), now
            elif time.monotonic() - last > self._plan.stall:
                self._failure = EngineFailed(
                    f"No rollout and no step has ended for {format_duration(self._plan.stall)}",
                    hint=f"see {self._files.log}, or allow more with `--stall SPAN`",
                )
                engine.ask_for_stacks()
                await asyncio.sleep(1.0)
                raise self._failure

    async def stop(self) -> None:
        """Stop after the running step, and wait for that."""
        self._stopping = True
        self._progress.say("stopping after the running step; once more to stop at once")
        await self._ended.wait()

    # --- What the session calls ---

    def begin(self, start: Start) -> list[int] | None:
        """Choose what is trained on, and what is held out."""
        self._held = hold_out(start, self._plan, self._setup.plan.option("split"))
        if self._plan.eval_examples:
            self._progress.say(f"Held out: {self._held.words}")
            self._record.note(
                msgspec.structs.replace(self._record.facts, held_out=self._held.words)
            )
        return self._held.left

    def judge_step(self, step: int, line: dict[str, Any]) -> StepAnswer:
        """Show a step, and say whether it is the last one."""
        facts = msgspec.structs.replace(self._record.facts, step=step)
        self._record.note(facts, save=True)
        if self._task is not None:
            self._task.advance()
            self._task.update(note=self._note(line))
        self._failure = self._failure or self._session.recorder.failure or self._checks.add(line)
        finished = self._failure is None and self._checks.learned is not None
        if finished:
            self._progress.say(str(self._checks.learned))
            self._record.note(msgspec.structs.replace(facts, finished_at=step), save=True)
        return StepAnswer(stop=self._is_over() or finished, finished=finished)

    def _is_over(self) -> bool:
        if self._record.facts.step >= self._record.facts.steps:  # only the evaluation is left
            return self._failure is not None
        hours = self._plan.max_hours
        if hours is not None and time.monotonic() - self._began > hours * _HOUR:
            self._stopping = True
            self._progress.say(f"stopping: {hours:g} hours have passed")
        if (self._setup.folder.path / STOP).exists():
            self._stopping = True
        return self._stopping or self._failure is not None

    def _note(self, metrics: Mapping[str, Any]) -> str:
        words = [
            _labelled("reward", metrics.get("reward"), ".3f"),
            _labelled("spread", metrics.get("reward_std"), ".3f"),
            _labelled("length", metrics.get("length"), ".0f"),
        ]
        seconds = (metrics.get("seconds") or {}).get("generate")
        if seconds:
            words.append(f"{metrics.get('tokens_own', 0) / seconds:,.0f} tokens/s")
        done = self._record.facts.step - self._first_step
        if done > 0:
            left = (time.monotonic() - self._began) / done * (self._plan.steps - done)
            words.append(f"{left / 60:.0f}m left" if left > 90 else f"{left:.0f}s left")  # noqa: PLR2004
        return ", ".join(word for word in words if word)

    async def evaluate(self, step: int) -> Evaluated:
        """Evaluate the weights of a step, once; raises PrimeError."""
        known = {each.step: each for each in self._record.facts.evaluations}
        if step not in known:
            policy = self._session.policies.current
            if policy is None or policy.endpoint is None or self._held is None:
                raise Conflict("There is no policy to evaluate yet")
            try:
                known[step] = await asyncio.to_thread(
                    evaluate, self._setup, self._plan, self._held, policy.endpoint.url, step
                )
            except PrimeError as error:
                self._evaluation_stopped = self._stopping and type(error) is EnvironmentFailed
                if not self._evaluation_stopped:
                    self._failure = error
                raise
            ordered = tuple(known[each] for each in sorted(known))
            facts = msgspec.structs.replace(self._record.facts, evaluations=ordered)
            self._record.note(facts, save=True)
            reward = _labelled("reward", known[step].reward, ".3f") or "no rollout has a reward"
            self._progress.say(f"Evaluated after {pluralize(step, 'step')}: {reward}")
        return Evaluated(step=step, reward=known[step].reward)

    def note_failure(self, failure: EngineFailure) -> None:
        """The engine says why it ends."""
        kind = error_classes().get(failure.code, EngineFailed)
        self._failure = self._failure or kind(failure.message, hint=failure.hint)

    def _finish(self) -> None:
        facts = self._record.facts
        verdict = judge(self._setup.folder.path, facts.evaluations)
        if verdict is None and self._plan.eval_examples:
            self._progress.warn("No verdict: no example has a reward before and after the training")
        self._record.note(msgspec.structs.replace(facts, verdict=verdict), save=True)


def _labelled(word: str, value: Any, form: str) -> str:
    return f"{word} {value:{form}}" if isinstance(value, float | int) else ""
