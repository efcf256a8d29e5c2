"""One worker's life: spec, hello, import, load, start, rollouts, end."""

import asyncio
import importlib
import os
import platform
import sys
import time
from concurrent.futures import ThreadPoolExecutor

from . import failures, guards
from .control import Control
from .events import Events
from .forwarder import forward
from .identity import stamp_requests
from .loading import import_module, installed_version
from .oracle import Oracle
from .plain import plain
from .schedule import Schedule

PROTOCOL = 1
FEWEST_THREADS = 32


def main(descriptor):
    """Never returns: ends the process, with 0 when all went well."""
    guards.send_prints_to_log()
    guards.quiet_libraries()
    events = Events(descriptor)
    control = Control()
    spec = control.read_spec()
    try:
        Session(spec, events, control).run()
    except failures.StageFailed as failed:
        events.send("end", ok=False, stage=failed.stage, error=_detail(failed.error or failed))
        guards.leave(1)
    except BaseException as error:
        events.send("end", ok=False, stage="run", error=_detail(error))
        guards.leave(1)
    events.send("end", ok=True, stage=None, error=None)
    guards.leave(0)


def _detail(error):
    return {
        "type": type(error).__name__,
        "message": str(error) or type(error).__name__,
        "traceback": failures.traceback_of(error),
    }


class Session:
    """Runs one spec."""

    def __init__(self, spec, events, control):
        self._spec = spec
        self._events = events
        self._control = control
        self._started = time.perf_counter()
        self._environment = None
        self._oracle = None
        self._schedule = None

    def run(self):
        """Raises StageFailed, with stage "interrupted" when the parent cancelled."""
        self._greet()
        self._prepare()
        loop = asyncio.new_event_loop()
        # Environments that ask for the current loop while they load get the one they run in.
        asyncio.set_event_loop(loop)
        threads = max(FEWEST_THREADS, self._spec.concurrency)
        loop.set_default_executor(ThreadPoolExecutor(max_workers=threads))
        module = import_module(self._spec.module)
        self._environment = self._load(module)
        self._oracle = Oracle(module, self._environment.gold, self._events)
        loop.run_until_complete(self._work(loop))

    def _greet(self):
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

    def _prepare(self):
        spec = self._spec
        sys.path[:0] = spec.pythonpath
        if spec.socket:
            spec.base_url = forward(spec.socket)
        if "OPENAI_API_KEY" not in os.environ:
            # Clients that the environment makes by default (judges) go the same way.
            os.environ.update(OPENAI_API_KEY=spec.token, OPENAI_BASE_URL=spec.base_url)
        for name in ("NO_PROXY", "no_proxy"):
            others = os.environ.get(name)
            os.environ[name] = "127.0.0.1,localhost" + (f",{others}" if others else "")

    def _load(self, module):
        # Imported here: what the other generation needs may not be installed.
        name = self._spec.generation
        generation = getattr(importlib.import_module(f".{name}", __package__), name.upper())
        environment = generation(self._spec, module)
        stamp_requests(self._spec.base_url)
        return environment

    async def _work(self, loop):
        environment = self._environment
        units = self._units()
        self._schedule = Schedule(self._spec, environment.run_unit, self._emit)
        self._announce(units)
        self._control.deliver_to(loop, self._on_message)
        try:
            await environment.serve(lambda: self._schedule.run(units, environment.lanes))
        except Exception as error:
            raise failures.StageFailed("run", error) from error
        finally:
            await guards.teardown(environment.environment)
        if self._schedule.cancelled:
            raise failures.StageFailed("interrupted", None)

    def _units(self):
        """What is owed, as units. A group that is not complete is owed whole."""
        owed = self._spec.owed(len(self._environment.examples))
        if self._environment.unit == "group":
            return [(example, list(range(self._spec.r))) for example, _ in owed]
        return [(example, [rollout]) for example, rollouts in owed for rollout in rollouts]

    def _announce(self, units):
        environment, spec = self._environment, self._spec
        self._events.send(
            "start",
            examples=len(environment.examples),
            planned=len(environment.examples) * spec.r,
            owed=sum(len(rollouts) for _, rollouts in units),
            unit=environment.unit,
            family=environment.family,
            harness=environment.harness,
            concurrency=min(environment.lanes, spec.concurrency),
            answers=environment.answers,
            oracle=bool(self._oracle),
            fingerprint=environment.fingerprint,
            load_s=round(time.perf_counter() - self._started, 3),
            eval_defaults={},
        )

    def _emit(self, row):
        self._events.send("rollout", **plain(row))

    def _on_message(self, message):
        if message["t"] == "cancel":
            self._schedule.cancel()
        elif message["t"] == "oracle":
            self._oracle.ask(message)
