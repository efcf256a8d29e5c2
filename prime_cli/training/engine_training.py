"""The engine of a training from its start to its end, and what prime does as it goes on."""

import asyncio
import time
from collections import Counter
from pathlib import Path
from statistics import fmean
from typing import Any

import msgspec

from prime_cli.core.errors import (
    Conflict,
    EngineFailed,
    EnvironmentFailed,
    PrimeError,
    error_classes,
)
from prime_cli.core.formatting import format_duration, format_number, pluralize
from prime_cli.core.progress import Progress, Task
from prime_cli.evals.execution.session_setup import RunSetup
from prime_cli.models.serving.launch import RunningEngine
from prime_cli.runtime.protocol import Start
from prime_cli.training.engines.launch import EngineFiles
from prime_cli.training.evaluation import HeldOutExamples, judge
from prime_cli.training.fine_tuning import leave_out_held_out, left_out_words
from prime_cli.training.nodes import Nodes, require_nodes
from prime_cli.training.prepare import engine_config
from prime_cli.training.record import STOP, Evaluation, TrainingFacts, TrainingRecord
from prime_cli.training.session import RolloutSession
from prime_cli.training.steps import StepChecks, StepProgress
from prime_cli.wire.rollouts import EngineFailure, Evaluated, StepAnswer

_HOUR = 3600.0
_LESS = "use less: `--batch`, `-t` or `--lora`"
_NO_PAIR = "no example has a reward before and after the training"
_OUT_OF_MEMORY = {
    "CUDA out of memory": f"the memory of the GPU is full: {_LESS}",
    "SIGKILL": f"it was killed, perhaps as this machine's memory was full: {_LESS}",
    **dict.fromkeys(("out of memory", "OutOfMemory", "MemoryError"), f"memory is full: {_LESS}"),
}
"""What is found in the last words of an engine, and what it means; the first one counts."""


class EngineTraining:
    """`session.Training`: the engine's process, and what prime does as it goes on."""

    def __init__(
        self,
        setup: RunSetup,
        record: TrainingRecord,
        files: EngineFiles,
        held: HeldOutExamples,
        checkpoint: Path | None,
        nodes: Nodes | None = None,
    ) -> None:
        self._nodes, self._is_gathering = nodes, nodes is not None
        self._setup, self._record, self._files = setup, record, files
        self._plan, self._held, self._checkpoint = record.facts.plan, held, checkpoint
        self._progress: Progress = setup.context.progress
        self._session: RolloutSession
        self._failure: PrimeError | None = None
        self._stopping = self._evaluation_stopped = False
        self._ended = asyncio.Event()
        self._shown: StepProgress
        self._began = time.monotonic()
        self._checks = StepChecks(setup.folder.path)

    @property
    def facts(self) -> TrainingFacts:
        """What run.json says of the training."""
        return self._record.facts

    @property
    def is_whole(self) -> bool:
        """Whether all steps were done, and evaluated if that is planned."""
        facts = self._record.facts
        is_evaluated = any(each.step >= facts.steps for each in facts.evaluations)
        return facts.step >= facts.steps and (is_evaluated or not self._plan.eval_examples)

    def show_on(self, task: Task) -> None:
        """Show the steps on `task`, those of earlier sessions too."""
        title = self._files.engine.title
        self._shown = StepProgress(self._plan, task, self._record.facts.step, engine=title)

    # --- The engine ---

    async def run(self, session: RolloutSession, url: str, token: str) -> None:
        """Run the engine until it ends, once all nodes are there; raises the failure that it
        reported, or EngineFailed.
        """
        if self._nodes is None:
            await self._run(session, url, token)
            return
        try:
            with self._nodes.waiting(url, token):
                await self._nodes.gathered(self._plan.stall)
                self._is_gathering = False
                await self._run(session, url, token)
                self._nodes.end()
        finally:
            self._ended.set()

    async def _run(self, session: RolloutSession, url: str, token: str) -> None:
        self._session = session
        launch = self._files.launch(
            engine_config(
                self._plan, self._record.facts.steps, self._checkpoint, self._record.facts.best
            ),
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
            if self._failure is None and self._nodes is not None:
                await self._nodes.explain()
                self._failure = self._failure or self._nodes.failure
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
        meant = next((hint for word, hint in _OUT_OF_MEMORY.items() if word in last_words), None)
        if meant is not None:
            failure.hint = f"{meant}; see {self._files.log}"
        return failure

    async def _watch(self, engine: RunningEngine) -> None:
        """Raise EngineFailed if nothing has happened for too long."""
        last, seen = time.monotonic(), (-1, -1, -1)
        while True:
            await asyncio.sleep(1.0)
            has_policy = self._session.policies.current is not None
            self._shown.look(self._session.played, has_policy=has_policy)
            if self._session.failure is not None:
                self._failure = self._session.failure
                raise self._failure
            if self._nodes is not None and self._nodes.failure is not None:
                await asyncio.sleep(1.0)  # what was reported says more
                self._failure = self._failure or self._nodes.failure
                raise self._failure
            now = self._session.finished, self._record.facts.step, self._held.progress()
            if now != seen or self._session.controller.is_paused:
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
        if self._is_gathering:
            return
        self._progress.say("stopping after the running step; once more to stop at once")
        await self._ended.wait()

    def drain(self) -> None:
        """The same without waiting; raises Conflict where other nodes are still awaited."""
        if self._is_gathering:
            raise Conflict(
                "The training waits for its other nodes, and has no step yet",
                hint="stop it with Ctrl-C there",
            )
        self._stopping = True

    # --- What the session calls ---

    def begin(self, index: int, start: Start) -> list[int]:
        """Choose what is trained on, and what is held out."""
        left, words = self._held.choose(index, start)
        if self._plan.eval_examples:
            self._progress.say(f"Held out: {words}")
            facts = self._record.facts
            self._record.note(msgspec.structs.replace(facts, held_out=self._held.words))
        return left

    def judge_step(self, step: int, line: dict[str, Any]) -> StepAnswer:
        """Show a step, and say whether it is the last one."""
        facts = msgspec.structs.replace(self._record.facts, step=step)
        self._record.note(facts, save=True)
        self._shown.add_step(step, line)
        self._failure = self._failure or self._session.failure or self._checks.add(line)
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

    async def evaluate(self, step: int) -> Evaluated:
        """Evaluate the weights of a step, once; raises PrimeError."""
        known = self._record.facts.evaluations
        found = [each for each in known if each.step == step]
        if not found:
            policy = self._session.policies.current
            if policy is None or policy.endpoint is None:
                raise Conflict("There is no policy to evaluate yet")
            await self._session.parts[0].hold.until_resumed()
            try:
                with self._shown.evaluating():
                    found = await asyncio.to_thread(self._held.evaluate, policy.endpoint, step)
                self._leave_out_held_out(found)
            except PrimeError as error:
                self._evaluation_stopped = self._stopping and type(error) is EnvironmentFailed
                if not self._evaluation_stopped:
                    self._failure = error
                raise
            ordered = tuple(sorted((*known, *found), key=lambda each: each.step))
            facts = msgspec.structs.replace(self._record.facts, evaluations=ordered)
            self._record.note(facts, save=True)
            words = ", ".join(map(_rewarded, found))
            self._progress.say(f"Evaluated after {pluralize(step, 'step')}: {words}")
        rewards = [each.reward for each in found if each.reward is not None]
        reward = fmean(rewards) if rewards else None
        return Evaluated(step=step, reward=reward, best=self._record.facts.best)

    def _leave_out_held_out(self, evaluations: list[Evaluation]) -> None:
        """See that no row to learn is of an example that was evaluated."""
        folder = self._setup.folder.path
        if self._plan.data is not None and evaluations[0].step == 0:
            count = leave_out_held_out(folder, [folder / each.path for each in evaluations])
            if count:
                self._progress.say(left_out_words(count))

    def note_failure(self, failure: EngineFailure) -> None:
        """The engine says why it ends."""
        kind = error_classes().get(failure.code, EngineFailed)
        self._failure = self._failure or kind(failure.message, hint=failure.hint)

    def require_nodes(self) -> Nodes:
        """The machines that train together; raises UsageError for a single one."""
        return require_nodes(self._nodes)

    def _finish(self) -> None:
        facts = self._record.facts
        verdict, verdicts = judge(self._setup.folder.path, facts.evaluations)
        if verdict is None and self._plan.eval_examples:
            self._progress.warn(f"No verdict: {_NO_PAIR}")
        judged = {each.environment for each in verdicts}
        for name in facts.environments if verdict is not None else ():
            if name not in judged:
                self._progress.warn(f"No verdict for {name}: {_NO_PAIR}")
        replaced = Counter(facts.replaced)
        for part in self._session.parts:
            replaced.update(part.recorder.replaced)
        facts = msgspec.structs.replace(
            facts, verdict=verdict, verdicts=verdicts, replaced=dict(replaced)
        )
        self._record.note(facts, save=True)


def _rewarded(evaluation: Evaluation) -> str:
    found = evaluation.reward
    reward = "no rollout has a reward" if found is None else f"reward {format_number(found)}"
    reward += evaluation.pass_words
    return reward if evaluation.environment is None else f"{evaluation.environment} {reward}"
