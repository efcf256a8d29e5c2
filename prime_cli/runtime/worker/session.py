"""A worker from start to end: spec, hello, import, load, start, rollouts, end."""

import asyncio
import importlib
import os
import platform
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from types import ModuleType
from typing import Any, NoReturn

from . import failures, guards, withheld_variables
from .cautions import Cautions
from .channel import Control, Events
from .deadlines import Watchdog
from .environment import (
    Oracle,
    import_module,
    installed_version,
    places_of,
    top_level_modules,
)
from .examples import choose, fingerprint, part_of, read_most, survey
from .failures import traceback_of
from .guards import rare_collections
from .jsonable import plain
from .network import ROLLOUT, NetworkWatch, peer_of_url
from .no_input import refuse_input
from .processes import adopt_orphans
from .request_identity import stamp_requests
from .rows import Row
from .schedule import Generation, RunUnit, Schedule, Unit
from .sockets import forward
from .spec import WorkerSpec

PROTOCOL = 1
FEWEST_THREADS = 32
BASE_URLS = ("OPENAI_BASE_URL", "PRIME_INFERENCE_URL")
"""Where clients without another URL connect: OpenAI's, and those of a v1 environment."""
HUB = "/hub"
"""Where the gateway has the API of sandboxes."""


def main(events_descriptor: int, control_descriptor: int) -> NoReturn:
    """Run the spec that the parent sends, then exit; with 0 if nothing failed."""
    adopt_orphans()
    events = Events(events_descriptor)
    control = Control(control_descriptor)
    spec = control.read_spec()
    if spec.options.get("debug"):
        failures.keep_whole_tracebacks()
    else:
        guards.redirect_stdout()
        refuse_input()
    try:
        WorkerSession(spec, events, control).run()
    except failures.StageFailed as failed:
        events.send("end", ok=False, stage=failed.stage, error=_detail(failed.error or failed))
        guards.exit_process(1)
    except BaseException as error:
        events.send("end", ok=False, stage="run", error=_detail(error))
        guards.exit_process(1)
    events.send("end", ok=True, stage=None, error=None)
    guards.exit_process(0)


def _detail(error: BaseException) -> dict[str, Any]:
    return {
        "type": type(error).__name__[: failures.MOST_OF_A_NAME],
        "message": failures.shorten(str(error) or type(error).__name__),
        "traceback": traceback_of(error),
    }


class WorkerSession:
    """Runs one spec."""

    def __init__(self, spec: WorkerSpec, events: Events, control: Control) -> None:
        self._spec = spec
        self._events = events
        self._control = control
        self._started = time.perf_counter()
        self._network = NetworkWatch(
            events,
            lookups=spec.watch_network,
            refuse=spec.only_gateway,
            is_closed=not spec.has_network,
        )

    def run(self) -> None:
        """Raises StageFailed, with stage "interrupted" when the parent cancelled."""
        self._send_hello()
        self._prepare()
        loop = asyncio.new_event_loop()
        guards.contain_exits(loop)
        # For environments that ask for the current loop while they load.
        asyncio.set_event_loop(loop)
        threads = max(FEWEST_THREADS, self._spec.concurrency)
        loop.set_default_executor(ThreadPoolExecutor(max_workers=threads))
        with rare_collections():
            module = import_module(self._spec.module)
            environment = self._load(module)
        oracle = Oracle(module, environment.gold, self._events)
        guards.run_to_end(loop, self._work(environment, oracle))

    def _send_hello(self) -> None:
        spec = self._spec
        self._events.send(
            "hello",
            protocol=PROTOCOL,
            pid=os.getpid(),
            python=platform.python_version(),
            verifiers=installed_version("verifiers"),
            generation=spec.generation,
            family=None,
            env_version=installed_version(spec.env_id),
        )

    def _prepare(self) -> None:
        spec = self._spec
        sys.path[:0] = spec.pythonpath
        self._network.start()
        outside = spec.base_url
        if spec.socket:
            spec.base_url = forward(spec.socket)
        self._network.gateway = peer_of_url(spec.base_url)
        # For the environment's own clients, such as judges, by default.
        os.environ.setdefault("OPENAI_API_KEY", spec.token)
        for name in BASE_URLS:
            if os.environ.get(name, outside) == outside:
                os.environ[name] = spec.base_url
        self._name_hub(outside)
        for name in ("NO_PROXY", "no_proxy"):
            others = os.environ.get(name)
            os.environ[name] = "127.0.0.1,localhost" + (f",{others}" if others else "")
        own = {spec.module.partition(".")[0], *top_level_modules(spec.env_id)}
        withheld_variables.watch(spec.withheld, spec.left_out, own, self._note)
        self._cautions = Cautions(own, lambda text: self._events.send("caution", text=text))
        self._cautions.listen()

    def _name_hub(self, outside: str) -> None:
        """Have clients of sandboxes ask the gateway, wherever it is reached from here."""
        there, here = (f"{url.removesuffix('/v1')}{HUB}" for url in (outside, self._spec.base_url))
        if os.environ.get("PRIME_API_BASE_URL") == there:
            os.environ["PRIME_API_BASE_URL"] = here

    def _note(self, name: str, by: str | None) -> None:
        self._events.send("asked", name=name, by=by, host=None)

    def _note_refusal(self, host: str) -> None:
        self._events.send("asked", name="OPENAI_API_KEY", by=None, host=host)

    def _load(self, module: ModuleType) -> Generation:
        # Lazy: the dependencies of the other generation may not be installed.
        name = self._spec.generation
        generation = getattr(importlib.import_module(f".{name}", __package__), name.upper())
        wanted, options = self._spec.n, self._spec.options
        self._spec.n = read_most(wanted, options)
        environment: Generation = generation(self._spec, module)
        self._spec.n = wanted
        environment.examples = choose(environment.examples, wanted, options)
        stamp_requests(self._spec.base_url, self._spec.token, self._note_refusal)
        return environment

    async def _work(self, environment: Generation, oracle: Oracle) -> None:
        spec = self._spec
        units = [] if spec.follow or spec.program else self._units(environment)

        async def run_unit(example: int, rollouts: list[int], attempt: int) -> list[Row]:
            rows = await environment.run_unit(example, rollouts, attempt)
            return self._network.mark_refused(rows)

        schedule = self._schedule(environment, run_unit)

        def on_message(message: dict[str, Any]) -> None:
            if message["t"] == "cancel":
                schedule.cancel()
            elif message["t"] == "oracle":
                oracle.ask(message)
            else:
                schedule.obey(message)

        self._send_start(environment, units, has_oracle=bool(oracle))
        if spec.survey:
            found = survey(environment.described)
            self._events.send("survey", **found, overlap=self._find_overlap(environment))
        self._network.phase = ROLLOUT
        self._control.deliver_to(asyncio.get_running_loop(), on_message)
        watchdog = Watchdog(spec.blocked_s)
        watchdog.start(asyncio.get_running_loop())

        async def run() -> None:
            await schedule.run(units, environment.lanes)
            guards.end_in_time(self._events, interrupted=schedule.cancelled)

        try:
            await environment.serve(run)
        except Exception as error:
            raise failures.StageFailed("run", error) from error
        finally:
            await guards.teardown(environment.environment)
            watchdog.stop()
        if schedule.cancelled:
            raise failures.StageFailed("interrupted", None)

    def _find_overlap(self, environment: Generation) -> dict[str, Any] | None:
        if self._spec.compared is None:
            return None
        # Lazy: only an attack asks.
        overlap = importlib.import_module(".overlap", __package__)
        try:
            found: dict[str, Any] = overlap.find_overlap(environment.splits, self._spec.compared)
        except Exception as error:  # the environment's own code
            return {"why": f"{type(error).__name__}: {error}"}
        return found

    def _schedule(self, environment: Generation, run_unit: RunUnit) -> Schedule:
        spec = self._spec
        if spec.program:
            # Lazy: it needs a v1 environment.
            programs = importlib.import_module(".v1_programs", __package__)
            chosen: Schedule = programs.ProgramSchedule(spec, environment, self._events)
            return chosen
        return Schedule(spec, run_unit, self._emit, by_group=environment.unit == "group")

    def _units(self, environment: Generation) -> list[Unit]:
        """The rollouts left to run, as units; an incomplete group is run as a whole."""
        owed = self._spec.owed(self._used(environment))
        if environment.unit == "group":
            return [(example, list(range(self._spec.r))) for example, _ in owed]
        return [(example, [rollout]) for example, rollouts in owed for rollout in rollouts]

    def _used(self, environment: Generation) -> list[int]:
        """The examples to run."""
        numbers = list(environment.examples)[: self._spec.first]
        return part_of(numbers, self._spec.options)

    def _numbers(self, environment: Generation) -> list[int] | None:
        """The numbers of the examples, unless they count from 0."""
        numbers = list(environment.examples)
        return None if numbers == list(range(len(numbers))) else numbers

    def _send_start(self, environment: Generation, units: list[Unit], *, has_oracle: bool) -> None:
        self._events.send(
            "start",
            examples=len(environment.examples),
            numbers=self._numbers(environment),
            planned=len(self._used(environment)) * self._spec.r,
            owed=sum(len(rollouts) for _, rollouts in units),
            unit=environment.unit,
            family=environment.family,
            harness=environment.harness,
            agents=list(environment.agents),
            judges=environment.judges,
            concurrency=min(environment.lanes, self._spec.concurrency),
            answers=environment.answers if self._spec.answers else {},
            oracle=has_oracle,
            fingerprint=fingerprint(environment.lines, self._spec.prefix, self._spec.fingerprint),
            weights=environment.weights if self._spec.survey else None,
            rules=places_of(environment.rules) if self._spec.survey else {},
            said=self._spec.said,
            has_eval=self._spec.has_eval,
            max_turns=self._spec.max_turns,
            load_s=round(time.perf_counter() - self._started, 3),
        )

    def _emit(self, row: Row) -> None:
        self._cautions.rollout_ended()
        error = row.get("error")
        if self._spec.options.get("debug") and error and error["traceback"]:
            print(error["traceback"], file=sys.stderr)  # noqa: T201 - the terminal
        self._events.send("rollout", **plain(row))
