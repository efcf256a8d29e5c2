"""`kill -9` of a run's worker or of the run itself, at moments by chance, until it is through."""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from prime_cli.runs.folder import RunFolder
from prime_cli.runs.manifest import load_manifest
from tests.helpers.environments import ECHO, V0, interpreter_with
from tests.helpers.kills.session import Kind, run_folder
from tests.helpers.scripted_model import ScriptedModel

PATIENCE = 300.0
LATENCY = 0.05
_MOST_KILLS = 6
_ENVIRONMENTS = Path(__file__).parents[2] / "runtime" / "worker" / "environments"
GROUPED = ECHO.replace("completion, answer,", "completions, answers,").replace(
    'float(completion[-1]["content"] == answer)',
    '[float(c[-1]["content"] == a) for c, a in zip(completions, answers)]',
)
_TASKS = (_ENVIRONMENTS / "echo_tasks.py").read_text(encoding="utf-8")

V0_KIND = Kind("v0", "v0", "tiny_env", V0, ECHO.replace("size: int = 10", "size: int = 12"))
GROUP_KIND = Kind(
    "v0 groups", "v0", "tiny_env", V0, GROUPED.replace("size: int = 10", "size: int = 12")
)
V1_KIND = Kind(
    "v1", "v1", "echo_tasks", "0.4.0", _TASKS.replace("count: int = 4", "count: int = 12")
)
KINDS = (V0_KIND, GROUP_KIND, V1_KIND)


@dataclass
class Tally:
    """What was killed and how far the run was, over all rounds; a round is a kill."""

    rounds: int = 0
    runs: int = 0
    kills: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    planned: int = 0
    calls: int = 0
    lost: int = 0

    def lines(self) -> list[str]:
        """For people."""
        spread = (
            f"{kind}: {victim} killed {n} times {when}"
            for (kind, victim, when), n in sorted(self.kills.items())
        )
        return [
            f"{self.rounds} kills in {self.runs} runs: every rollout once in the results",
            f"{self.calls} calls for {self.planned} planned; {self.lost} were in flight at a kill",
            *spread,
        ]


class KilledRuns:
    """Runs of one kind in `folder`, one after another; `tally` counts."""

    def __init__(self, kind: Kind, folder: Path, chance: random.Random, tally: Tally) -> None:
        self._kind = kind
        self._folder = folder
        self._chance = chance
        self._tally = tally
        interpreter_with(folder, kind.source, module=kind.module, verifiers=kind.verifiers)
        with ScriptedModel(latency=LATENCY) as model:
            begun = time.monotonic()
            KilledRun(kind, folder, model).finish()
            self._took = time.monotonic() - begun
        self._calm = _rows(folder)
        assert len(self._calm) == kind.planned

    def kill_one(self) -> None:
        """One run that is killed a few times, and its rows those of the calm one."""
        shutil.rmtree(self._folder / "runs")
        with ScriptedModel(latency=LATENCY) as model:
            run = KilledRun(self._kind, self._folder, model)
            kills = 0
            for _ in range(self._chance.randint(1, _MOST_KILLS)):
                victim = self._chance.choice(["worker", "run"])
                when = run.wait(self._moment(run))
                if when is None or not run.kill(victim):
                    break
                kills += 1
                self._tally.kills[self._kind.name, victim, when] += 1
            run.finish()
            assert _rows(self._folder) == self._calm
            run.check(kills)
            self._tally.rounds += kills
            self._tally.runs += 1
            self._tally.planned += self._kind.planned
            self._tally.calls += len(model.calls)
            self._tally.lost += len(model.calls) - self._kind.planned

    def _moment(self, run: "KilledRun") -> "Callable[[], bool]":
        """Half of them when so many rollouts are done, the others at any time, and at the end."""
        choice = self._chance.random()
        if choice < 0.25:
            end = time.monotonic() + self._chance.uniform(0, self._took)
            return lambda: time.monotonic() >= end
        lines = self._kind.planned
        if choice < 0.8:
            lines = self._chance.randint(run.lines(), lines)
        wait = self._chance.uniform(0, 2 * LATENCY)

        def reached() -> bool:
            if run.lines() < lines:
                return False
            time.sleep(wait)
            return True

        return reached


class KilledRun:
    """One run and the process that is at it, whose id is `pid`."""

    def __init__(self, kind: Kind, folder: Path, model: ScriptedModel) -> None:
        self._kind = kind
        self._folder = folder
        self._model = model
        self._kept = b""
        self._process = self._start()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def code(self) -> int | None:
        """Its exit code; None while it goes on."""
        return self._process.poll()

    @property
    def folder(self) -> RunFolder | None:
        """None before it is written down."""
        return run_folder(self._folder / "runs")

    def stop(self) -> None:
        """Kill it, and leave it so."""
        self._process.kill()
        self._process.wait()

    def go_on(self) -> None:
        """Resume it, after its process has ended."""
        self._check_journal()
        self._process = self._start()

    def wait(self, is_now: Callable[[], bool]) -> str | None:
        """Until that moment; how far the run is then, None when it has ended before."""
        deadline = time.monotonic() + PATIENCE
        while not is_now():
            if self._process.poll() is not None:
                return None
            assert time.monotonic() < deadline, "the run stands still"
            time.sleep(0.005)
        return self._stage() if self._process.poll() is None else None

    def kill(self, victim: str) -> bool:
        """Kill it, and go on where the run itself is gone; whether there was something to kill."""
        if victim == "run":
            self.stop()
            self.go_on()
            return True
        workers = _children(self._process.pid)
        for pid in workers:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        return bool(workers)

    def finish(self) -> None:
        """To the end: a worker that was killed while it loaded has ended its session."""
        for _ in range(_MOST_KILLS + 1):
            if self._process.wait(PATIENCE) == 0:
                return
            self.go_on()
        raise AssertionError("the run does not end")

    def check(self, kills: int) -> None:
        """That no more calls were made than had to be, and that run.json tells of it all."""
        self._check_journal()
        calls, kind = len(self._model.calls), self._kind
        assert kind.planned <= calls <= kind.planned + kills * kind.concurrency
        found = self.folder
        assert found is not None
        manifest = load_manifest(found.manifest)
        assert manifest.status == "finished"
        assert manifest.counts is not None
        assert (manifest.counts.planned, manifest.counts.scored) == (kind.planned, kind.planned)
        assert not list(found.path.glob(".*.tmp"))

    def lines(self) -> int:
        """Whole lines in the journal."""
        return self._journal().count(b"\n")

    def _stage(self) -> str:
        done = self.lines()
        if done == 0:
            return "before the first row"
        return "after the last row" if done >= self._kind.planned else "between rows"

    def _check_journal(self) -> None:
        """What was there once stays there; only a torn end may go."""
        journal = self._journal()
        assert journal.startswith(self._kept)
        self._kept = journal[: journal.rfind(b"\n") + 1]

    def _journal(self) -> bytes:
        found = sorted((self._folder / "runs").glob("outputs/evals/*/*/journal.jsonl"))
        return found[0].read_bytes() if found else b""

    def _start(self) -> "subprocess.Popen[bytes]":
        command = [sys.executable, "-m", "tests.helpers.kills.session", str(self._folder)]
        words = [self._model.url, json.dumps(asdict(self._kind))]
        log = (self._folder / "sessions.log").open("ab")
        with log:
            return subprocess.Popen([*command, *words], stdout=log, stderr=log)


def _rows(folder: Path) -> list[Any]:
    """results.jsonl without what may differ: times, tokens (a lost try is paid for), attempts."""
    found = run_folder(folder / "runs")
    assert found is not None
    rows = [json.loads(line) for line in found.results.read_text("utf-8").splitlines()]
    for row in rows:
        del row["timing"], row["token_usage"]
        row["prime"] = row["prime"]["rollout"]
    return rows


def _children(pid: int) -> list[int]:
    with suppress(FileNotFoundError):
        text = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii")
        return [int(word) for word in text.split()]
    return []
