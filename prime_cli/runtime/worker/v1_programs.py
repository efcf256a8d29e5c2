"""Verifiers' own programs besides its evaluator: `vf-validate`, `vf-debug` and `vf-replay`.

A task is checked or set up, and a saved trace is scored, by the code of the installed release, so
that the result is upstream's; only its arguments, folders and dashboards are left out. The model
of the run is not called.
"""

import asyncio
import json
import os
from pathlib import Path
from typing import Any

from .channel import Events
from .failures import BadArguments
from .schedule import Schedule, Unit
from .spec import WorkerSpec
from .v1 import V1
from .v1_config import LOCAL, merge, roles
from .v1_harness import backend_of


class ProgramSchedule(Schedule):
    """Runs the spec's `program` in place of rollouts; sends what it finds as events."""

    def __init__(self, spec: WorkerSpec, environment: V1, events: Events) -> None:
        super().__init__(spec, environment.run_unit, lambda _: None)
        self._given: dict[str, Any] = spec.program or {}
        self._loaded = environment
        self._events = events
        self._finished = asyncio.Event()

    async def run(self, units: list[Unit], lanes: int) -> None:
        """Run it to its end; the units are none."""
        del units
        program = {"validate": self._validate, "debug": self._debug, "replay": self._replay}
        running = asyncio.ensure_future(program[self._given["name"]](lanes))
        self._running = {running: (0, [])}
        try:
            await running
        except asyncio.CancelledError:
            if not self.cancelled:
                raise

    def obey(self, order: dict[str, Any]) -> None:
        """`finish` ends the runtime that somebody else has used."""
        if order["t"] == "finish":
            self._finished.set()

    def _say(self, found: dict[str, Any], *, example: int = 0, waits: bool = False) -> None:
        self._events.send("program", example=example, found=found, waits=waits)

    def _runtime(self) -> Any:
        """The config of the runtime of tasks: that of the first agent."""
        return next(iter(roles(self._loaded.environment.config).values())).runtime

    async def _validate(self, lanes: int) -> None:
        from verifiers.v1.cli import validate
        from verifiers.v1.configs.cli.validate import ValidateConfig

        gate, total = asyncio.Semaphore(lanes), self._given.get("seconds")

        async def check(example: int, task: Any) -> None:
            # A set-up that has no limit of its own gets one.
            setup = total if task.data.timeout.setup is None else None
            config = ValidateConfig(
                run={"name": "prime"},
                runtime=self._runtime(),
                timeout={"setup": setup, "total": total},
            )
            async with gate:
                row = await validate._validate_task(task, config)  # noqa: SLF001 - from 0.3 on
            self._say(row, example=example)

        await asyncio.gather(*(check(*each) for each in self._loaded.examples.items()))

    async def _debug(self, lanes: int) -> None:
        from verifiers.v1.cli import debug
        from verifiers.v1.configs.cli.debug import DebugConfig

        del lanes
        command = self._given.get("command")
        if command is None:
            debug.run_action = self._lend
        config = DebugConfig(runtime=self._runtime(), command=command or "sh")
        for example, task in self._loaded.examples.items():
            trace, is_cancelled = await debug.debug_task(task, config)
            if is_cancelled:
                raise asyncio.CancelledError
            self._say(trace.info["debug"], example=example)

    async def _lend(self, runtime: Any, config: Any) -> dict[str, Any]:
        """Let the parent, which has the terminal, start a shell; in place of upstream's action."""
        del config
        if runtime.type != LOCAL:
            problem = f"a shell has no terminal in the runtime `{runtime.type}`"
            raise BadArguments(f"{problem}: give a command after `--`")
        # As the runtime starts programs.
        kept = {name: text for name, text in os.environ.items() if "API_KEY" not in name.upper()}
        env = {**kept, **runtime.process_env({})}
        self._say({"folder": str(backend_of(runtime).workdir), "env": env}, waits=True)
        await self._finished.wait()
        return {"action": "command", "ok": True, "reason": "pass", "exit_code": 0}

    async def _replay(self, lanes: int) -> None:
        from verifiers.v1.cli import replay
        from verifiers.v1.cli.resolve import narrow_taskset_config
        from verifiers.v1.configs.cli.replay import ReplayConfig

        source, folder = Path(self._given["source"]), Path(self._given["folder"])
        saved = json.loads(replay.saved_config_path(source).read_text(encoding="utf-8"))
        taskset = saved.get("taskset") or saved["env"]["taskset"]
        taskset = merge(taskset, {"id": self._spec.module, **self._spec.args})
        own = {"taskset": taskset, "output_dir": folder, "max_concurrent": lanes, "rich": False}
        config = narrow_taskset_config(ReplayConfig, self._spec.module)(**{**saved, **own})
        try:
            traces = await replay.run_replay(config, source, folder)
        except SystemExit as refusal:
            self._say({"refused": str(refusal)})
            return
        # Traces are written as they are scored; their order numbers the rollouts of an example.
        places = {trace.id: place for place, trace in enumerate(traces)}
        file = folder / "traces.jsonl"
        lines = file.read_text(encoding="utf-8").splitlines()
        lines.sort(key=lambda line: places[json.loads(line)["traces"][0]["id"]])
        text = "".join(f"{line}\n" for line in lines)
        file.write_text(text, encoding="utf-8", newline="\n")
        self._say({"traces": len(traces)})
