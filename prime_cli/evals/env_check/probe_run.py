"""A run of an environment without a model: with a check's answers, or a program of verifiers."""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from prime_cli.core.builtin_models import PROBES
from prime_cli.core.errors import EnvironmentFailed, PrimeError
from prime_cli.core.progress import Progress, Task
from prime_cli.evals.execution.progress_line import say_of_worker
from prime_cli.evals.execution.session_setup import make_spec
from prime_cli.evals.execution.worker_failures import failure_of
from prime_cli.models.endpoints import Endpoint
from prime_cli.models.gateway.oracle import (
    GoldAnswers,
    Message,
    OracleProbe,
    OracleQuestion,
    Script,
)
from prime_cli.models.gateway.server import Gateway
from prime_cli.models.gateway.settings import GatewaySettings, OpenRelay
from prime_cli.models.registry import Registry
from prime_cli.runs.access_requests import WithheldVariables
from prime_cli.runs.plan import EvalPlan
from prime_cli.runs.scrubber import Scrubber
from prime_cli.runtime.interpreters import Interpreter
from prime_cli.runtime.isolation.sandbox import NamespaceSandbox
from prime_cli.runtime.launch import Worker
from prime_cli.runtime.protocol import (
    AskedVariable,
    Caution,
    Event,
    Finish,
    HostConnected,
    LogMessage,
    ProgramFound,
    Rollout,
    Start,
    Survey,
    WorkerEnd,
    WorkerSpec,
)
from prime_cli.runtime.variables import Variables, worker_variables


@dataclass(frozen=True)
class ProbeSetup:
    """What a probe run needs; `variables` are those passed to the environment, and those withheld.

    `judges` are the variables and the registry for finding other models: both are empty unless
    these may be called; `others` answers in their place. `hub` opens what answers calls of
    sandboxes, `warned` are the environment's warnings in all of them. `walls` are those of
    `--sandbox`. With `compared` the survey says what splits have in common, and have of the texts
    with these hashes.
    """

    plan: EvalPlan
    interpreter: Interpreter
    first: int
    rollout_seconds: float
    variables: Variables
    scrub: Scrubber
    log: Path
    judges: Mapping[str, str] = field(default_factory=dict)
    registry: Registry = field(default_factory=Registry)
    offline: bool = False
    hub: OpenRelay | None = None
    others: Endpoint | None = None
    walls: NamespaceSandbox | None = None
    compared: tuple[str, ...] | None = None
    warned: dict[str, None] = field(default_factory=dict)


@dataclass
class ProbeRun:
    """The results of one run; `rows` by (example, probe), `hosts` by phase."""

    start: Start | None = None
    survey: Survey | None = None
    rows: dict[tuple[int, OracleProbe], Rollout] = field(default_factory=dict)
    hosts: dict[str, list[str]] = field(default_factory=lambda: {"load": [], "rollout": []})

    @property
    def examples(self) -> list[int]:
        """The examples that were run."""
        return sorted({example for example, _ in self.rows})

    def rewards(self, probe: OracleProbe) -> dict[int, float]:
        """The rewards of a probe by example, without errors."""
        found = {example: self.rows.get((example, probe)) for example in self.examples}
        return {e: row.reward for e, row in found.items() if row and row.reward is not None}


async def run_probes(
    bench: ProbeSetup, progress: Progress, task: Task, *, without: Iterable[OracleProbe] = ()
) -> ProbeRun:
    """Load the environment in a new process and run the probes on its first examples.

    Omits those in `without`. Raises LoadFailed and EnvironmentFailed.
    """
    return await ProbeSession(bench, progress, task).run({"without": tuple(without)})


OnFound = Callable[[ProgramFound], None]
"""Called with what a program found; one that waits goes on when it returns."""

_SECONDS_TO_STOP = 60.0
_NO_KEY = "EMPTY"
"""What a judge of verifiers 0.4 sends whose key's variable is not set."""


async def run_program(
    bench: ProbeSetup, progress: Progress, task: Task, program: Mapping[str, Any], hear: OnFound
) -> None:
    """Have verifiers' program `name` do what else is in `program`, on the examples of the plan.

    See `runtime.worker.v1_programs`. Raises LoadFailed and EnvironmentFailed.
    """
    await ProbeSession(bench, progress, task, hear).run({"program": program})


class ProbeSession:
    """One worker with a gateway that answers it; `hear` is told what a program found."""

    def __init__(
        self,
        bench: ProbeSetup,
        progress: Progress,
        task: Task,
        hear: OnFound | None = None,
        script: Script | None = None,
    ) -> None:
        self._bench = bench
        self._script = script
        self._hear_found = hear
        self._progress = progress
        self._task = task
        self._found = ProbeRun()
        self._gold = GoldAnswers()
        self._withheld = WithheldVariables(bench.variables, progress)
        self._worker: Worker

    async def run(self, told: Mapping[str, Any]) -> ProbeRun:
        bench = self._bench
        async with Gateway(
            Endpoint(PROBES, builtin=True),
            bench.registry,
            gold=self._gold,
            script=self._script,
            environ=bench.judges,
            offline=bench.offline,
            settings=_settings(bench),
            say=self._progress.say,
        ) as gateway:
            walls = bench.walls
            if walls is not None and gateway.socket_path is not None:
                walls = walls.with_socket(gateway.socket_path)
            spec = _spec(bench, gateway, walls, **told)
            python = bench.interpreter.python
            variables = worker_variables(
                bench.variables,
                base_url=gateway.base_url,
                token=gateway.token,
                python=python,
            )
            async with Worker(
                python,
                spec,
                env=variables,
                log_path=bench.log,
                scrub=bench.scrub,
                walls=walls,
            ) as self._worker:
                try:
                    await self._listen()
                except asyncio.CancelledError:
                    if "program" in told:
                        await self._stop()
                    raise
        return self._found

    async def _listen(self) -> None:
        async for event in self._worker.events():
            self._hear(event)
            if isinstance(event, ProgramFound) and self._hear_found is not None:
                self._hear_found(event)
                if event.waits:
                    await self._worker.tell(Finish())

    async def _stop(self) -> None:
        """Have a program stop its runtimes, which may be containers or sandboxes elsewhere."""
        await self._worker.cancel()
        with suppress(TimeoutError, PrimeError):
            async with asyncio.timeout(_SECONDS_TO_STOP):
                async for _ in self._worker.events():
                    pass

    def _hear(self, event: Event) -> None:
        found = self._found
        match event:
            case Start():
                found.start = event
                self._task.update(note="")
                self._gold.learn(event.answers, self._ask if event.oracle else None)
            case Survey():
                found.survey = event
            case AskedVariable():
                self._withheld.hear(event)
            case HostConnected():
                found.hosts[event.phase].append(event.host)
            case Rollout():
                self._hear_rollout(event)
                self._task.advance()
            case Caution() | LogMessage():
                say_of_worker(event, self._bench.scrub.text, self._bench.warned, self._progress)
            case WorkerEnd():
                failure = failure_of(
                    event,
                    self._bench.plan,
                    self._bench.scrub,
                    asked=self._withheld.hint(),
                    log=self._bench.log,
                )
                if failure is not None:
                    raise failure

    def _hear_rollout(self, row: Rollout) -> None:
        if row.rollout not in set(OracleProbe):
            raise EnvironmentFailed(f"There is no probe {row.rollout}")
        self._found.rows[row.example_id, OracleProbe(row.rollout)] = row

    async def _ask(self, question: OracleQuestion) -> Message | None:
        return await self._worker.ask_oracle(question.example, question.messages, question.tools)


def _settings(bench: ProbeSetup) -> GatewaySettings:
    keys = () if bench.others is None else (_NO_KEY,)
    walled = bench.walls is not None
    return GatewaySettings(hub=bench.hub, others=bench.others, also_accepted=keys, sandboxed=walled)


def _spec(
    bench: ProbeSetup,
    gateway: Gateway,
    walls: NamespaceSandbox | None,
    *,
    follow: bool = False,
    without: tuple[OracleProbe, ...] = (),
    program: Mapping[str, Any] | None = None,
) -> WorkerSpec:
    spec = make_spec(
        bench.plan,
        bench.interpreter,
        gateway.base_url,
        gateway.token,
        variables=bench.variables,
        socket=None if walls is None else walls.gateway_socket,
    )
    if program is not None:
        return msgspec.structs.replace(spec, program=dict(program), offline=bench.offline)
    return msgspec.structs.replace(
        spec,
        first=bench.first,
        done=[(example, int(probe)) for example in range(bench.first) for probe in without],
        survey=True,
        watch_network=True,
        timeout_s=bench.rollout_seconds,
        blocked_s=bench.rollout_seconds if follow else spec.blocked_s,
        follow=follow,
        compared=None if bench.compared is None else list(bench.compared),
    )
