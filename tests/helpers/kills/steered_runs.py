"""Runs that people control, and that are killed with -9, at moments by chance, until they end."""

import json
import random
import shutil
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from prime_cli.core.errors import Conflict, NotFound, PrimeError, Unreachable, UsageError
from prime_cli.evals.control.client import RunControl
from prime_cli.evals.control.messages import Action, ControlRequest, RunState
from prime_cli.runs.folder import read_journal
from prime_cli.runs.manifest import FINISHED, RunManifest, load_manifest
from prime_cli.runs.plan import RunChange
from prime_cli.runs.rows import CANCELLED
from prime_cli.runs.saved_run import open_run
from prime_cli.runs.tally import RolloutKey
from tests.helpers.environments import ECHO, V0, small_interpreter
from tests.helpers.kills.killed_runs import GROUPED, KilledRun
from tests.helpers.kills.session import Kind
from tests.helpers.scripted_model import Received, Reply, ScriptedModel, status

_PATIENCE = 120.0
_LATENCY = 0.25
_FAILING = 0.1
_KILLING = 0.2
"""Shares of model calls that fail, and of commands beside which something is killed."""
_ENOUGH, _AT_MOST = 1000.0, 8
"""USD that no run spends, and rollouts at a time."""
_ACTIONS: tuple[Action, ...] = ("status", "pause", "resume", "set", "drain", "cancel", "retry")
_WEIGHTS = (1, 3, 2, 4, 1, 6, 6)
_REFUSALS = (Conflict, UsageError, NotFound)

PLAIN = Kind("v0", "v0", "tiny_env", V0, ECHO.replace("10", "20"), 20, usd=1000, fail_fast=False)
GROUPS = Kind(
    "v0 groups",
    "v0",
    "tiny_env",
    V0,
    GROUPED.replace("10", "20"),
    20,
    usd=1000,
    fail_fast=False,
)
KINDS = (PLAIN, GROUPS)


@dataclass
class Tally:
    """What was asked and killed, over all runs."""

    commands: int = 0
    runs: int = 0
    answers: Counter[tuple[str, str]] = field(default_factory=Counter)
    kills: Counter[tuple[str, str]] = field(default_factory=Counter)
    rollouts: int = 0
    cancelled: int = 0
    again: int = 0

    def lines(self) -> list[str]:
        """For people."""
        answers = (f"{action}: {n} {how}" for (action, how), n in sorted(self.answers.items()))
        kills = (f"{victim} killed {n} times {when}" for (victim, when), n in self.kills.items())
        others = f"{self.cancelled} cancelled and {self.again} in a later attempt"
        return [
            f"{self.commands} commands in {self.runs} runs",
            f"{self.rollouts} rollouts, {others}: each is there once",
            *answers,
            *sorted(kills),
        ]


class SteeredRuns:
    """Runs of one kind in `folder`, one after another; `tally` counts."""

    def __init__(self, kind: Kind, folder: Path, chance: random.Random, tally: Tally) -> None:
        self._kind = kind
        self._folder = folder
        self._chance = chance
        self._tally = tally
        small_interpreter(folder, kind.source)

    def steer_one(self) -> None:
        """One run with a few commands, from start to end."""
        if (self._folder / "runs").exists():
            shutil.rmtree(self._folder / "runs")
        failing = random.Random(self._chance.random())

        def answer(request: Received) -> Reply:
            said = Reply(request.last_user, latency=_LATENCY * failing.random())
            return status(400) if failing.random() < _FAILING else said

        with ScriptedModel(answer) as model:
            run = _SteeredRun(self._kind, self._folder, self._chance, self._tally, model)
            for _ in range(self._chance.randint(2, 12)):
                if not run.ask_once():
                    break
            run.finish()
            run.check()


class _SteeredRun:
    """A run, and what was answered to those who control it."""

    def __init__(
        self, kind: Kind, folder: Path, chance: random.Random, tally: Tally, model: ScriptedModel
    ) -> None:
        self._kind = kind
        self._chance = chance
        self._tally = tally
        self._run = KilledRun(kind, folder, model)
        self._done: list[RunChange] = []
        self._lost = 0
        """Commands without an answer, which were done or not."""
        self._begin()

    def ask_once(self) -> bool:
        """A command at some moment, and with some of them a kill; False once the run has ended."""
        if not self._goes_on() or not self._wait():
            return False
        request = self._choose()
        if self._chance.random() >= _KILLING:
            self._note(request, self._answer(request))
            return True
        with ThreadPoolExecutor(1) as other:
            asked = other.submit(self._answer, request)
            time.sleep(self._chance.uniform(0, 0.02))
            victim = self._chance.choice(["worker", "run"])
            if victim == "run":
                self._run.stop()
            elif not self._run.kill(victim):
                victim = "nothing"
            answer = asked.result()
        self._tally.kills[victim, "beside a " + request.action] += 1
        self._note(request, answer, is_alive=victim != "run")
        if victim == "run":
            self._run.go_on()
        return True

    def finish(self) -> None:
        """To the end, whatever holds it up or stopped it."""
        deadline = time.monotonic() + _PATIENCE
        while not self._is_finished():
            assert time.monotonic() < deadline, f"stands still: {self._run.pid}"
            if self._run.code is not None:
                self._run.go_on()
            elif self._loaded_state() in ("paused", "draining"):
                self._note(ControlRequest("resume"), self._answer(ControlRequest("resume")))
            time.sleep(0.1)

    def check(self) -> None:
        """That each rollout is there once, as people wanted it, and that run.json tells of it."""
        manifest, planned = self._manifest(), self._kind.planned
        folder = self._run.folder
        assert folder is not None
        assert self._is_told(manifest.changes), (self._done, manifest.changes)
        rows = [json.loads(line) for line in folder.results.read_text("utf-8").splitlines()]
        ended = {(row["example_id"], row["prime"]["rollout"]): row for row in rows}
        assert len(rows) == len(ended) == planned
        cancelled = {pair for pair, row in ended.items() if _is_cancelled(row)}
        wanted = {pair: each for each in manifest.changes for pair in each.rollouts}
        # A cancellation that was killed before it was written down was not answered either.
        stray = cancelled - {p for p, each in wanted.items() if each.action == "cancel"}
        assert not stray or self._lost, stray
        for pair, change in wanted.items():
            if change.action == "cancel":
                assert pair in cancelled, (pair, change, ended[pair])
            else:
                assert ended[pair]["prime"]["attempt"] >= (change.attempt or 1), (pair, change)
        counts = manifest.counts
        assert counts is not None
        assert counts.cancelled == len(cancelled)
        assert counts.errored == sum(row["reward"] is None for row in rows) - len(cancelled)
        assert counts.scored + counts.errored + counts.cancelled == planned
        summary = open_run(folder.path).summary()
        assert all(error.kind != CANCELLED for error in summary.errors)
        if self._kind is GROUPS:
            attempts = {(p[0], row["prime"]["attempt"]) for p, row in ended.items()}
            assert len(attempts) == self._kind.examples, "rewards of different attempts"
        self._tally.runs += 1
        self._tally.rollouts += planned
        self._tally.cancelled += len(cancelled)
        self._tally.again += sum(row["prime"]["attempt"] > 1 for row in rows)
        assert sum(1 for _ in read_journal(folder.journal)) >= planned

    # --- Commands ---

    def _wait(self) -> bool:
        """Until some moment, a few of them at the end; whether the run still goes on."""
        if self._chance.random() < 0.8:
            time.sleep(self._chance.expovariate(1 / 0.1))
            return self._run.code is None
        enough = self._kind.planned - self._chance.randint(0, 3)
        while self._run.code is None and self._run.lines() < enough:
            if self._loaded_state() != "running":
                break
            time.sleep(0.005)
        return self._run.code is None

    def _choose(self) -> ControlRequest:
        chance = self._chance
        (action,) = chance.choices(_ACTIONS, _WEIGHTS)
        if action == "set" and chance.random() < 0.6:
            return ControlRequest(action, concurrency=chance.randint(0, _AT_MOST))
        if action == "set":
            cap = _ENOUGH if chance.random() < 0.7 else chance.uniform(0.1, 2)
            return ControlRequest(action, max_cost=cap)
        if action in ("cancel", "retry"):
            example, rollout = self._pair(action)
            return ControlRequest(action, example=example, rollout=rollout)
        return ControlRequest(action)

    def _pair(self, action: str) -> tuple[int, int | None]:
        """Mostly one that this may be done to; sometimes one that is not there."""
        pairs = self._unscored() if action == "retry" and self._chance.random() < 0.8 else []
        if pairs:
            example, rollout = self._chance.choice(pairs)
        else:
            example = self._chance.randrange(self._kind.examples + 1)
            rollout = self._chance.randrange(self._kind.rollouts + 1)
        return example, None if self._chance.random() < 0.2 else rollout

    def _unscored(self) -> list[RolloutKey]:
        folder = self._run.folder
        if folder is None or not folder.journal.exists():
            return []
        return [last.pair for last in open_run(folder.path).tally().attempts() if not last.scored]

    def _answer(self, request: ControlRequest) -> RunState | PrimeError:
        folder = self._run.folder
        assert folder is not None
        try:
            return RunControl(open_run(folder.path)).ask(request)
        except PrimeError as error:
            return error

    def _note(
        self, request: ControlRequest, answer: RunState | PrimeError, *, is_alive: bool = True
    ) -> None:
        """Count the answer; one that was given must be right, and told of in run.json."""
        self._tally.commands += 1
        how = "done" if isinstance(answer, RunState) else f"refused ({answer.code})"
        self._tally.answers[request.action, how] += 1
        if isinstance(answer, RunState):
            assert 0 <= answer.ended <= self._kind.planned, answer
            if request.action != "status":
                self._done.append(self._change(request))
            return
        known = (*_REFUSALS, Unreachable)
        assert type(answer) in known, f"{request}: {answer!r}"
        if not is_alive or isinstance(answer, Unreachable):
            self._lost += 1

    def _change(self, request: ControlRequest) -> RunChange:
        """What run.json has of it: another has not asked since."""
        changes = self._manifest().changes
        last = changes[-1]
        assert last.action == request.action, (request, changes)
        assert (last.concurrency, last.max_cost) == (request.concurrency, request.max_cost)
        return last

    def _is_told(self, changes: tuple[RunChange, ...]) -> bool:
        """Whether run.json has all that was done, in order, and little else."""
        others = iter(changes)
        is_there = all(any(each == other for other in others) for each in self._done)
        return is_there and len(changes) <= len(self._done) + self._lost

    # --- The run ---

    def _begin(self) -> None:
        deadline = time.monotonic() + _PATIENCE
        while self._run.folder is None:
            assert time.monotonic() < deadline, "the run does not begin"
            time.sleep(0.01)

    def _goes_on(self) -> bool:
        """Whether there is still something to control: one that was stopped is resumed.

        Mostly it has loaded its environment: else there is little that can be asked of it.
        """
        patience = time.monotonic() + (_PATIENCE if self._chance.random() < 0.9 else 0)
        while not self._is_finished():
            if self._run.code is not None:
                self._run.go_on()
            elif self._loaded_state() or time.monotonic() > patience:
                return True
            time.sleep(0.02)
        return False

    def _loaded_state(self) -> str:
        """`running`, `paused` or `draining`; empty before it has loaded and after its end."""
        state = self._answer(ControlRequest("status"))
        return state.state if isinstance(state, RunState) and state.total is not None else ""

    def _manifest(self) -> RunManifest:
        folder = self._run.folder
        assert folder is not None
        return load_manifest(folder.manifest)

    def _is_finished(self) -> bool:
        return self._run.code == 0 and self._manifest().status == FINISHED


def _is_cancelled(row: dict[str, object]) -> bool:
    error = row["error"]
    return isinstance(error, dict) and error["class"] == CANCELLED
