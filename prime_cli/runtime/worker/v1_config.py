"""The config of a v1 environment, which is upstream's own but for one thing: where agents run.

By default that is a sandbox of the Prime cloud. Where nobody asked for it, agents run here.
"""

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from . import v1_harness
from .failures import BadArguments, StageFailed
from .spec import Spec

CLOUD, HERE = "prime", "subprocess"
PROGRAMS = {"docker": "docker", "podman": "podman", "apptainer": "apptainer"}
ANSWER_S = 30.0
ACCOUNTS = {
    "prime": ("PRIME_API_KEY", "~/.prime/config.json"),
    "modal": ("MODAL_TOKEN_ID", "~/.modal.toml"),
    "e2b": ("E2B_API_KEY", None),
}
"""{runtime: (variable of its key, file that may hold it instead)}."""


@dataclass
class AgentInfo:
    """What plays one agent: the id of its harness, and the type of its runtime.

    `instead_of` is the runtime that it would have by default, where that is another one.
    `runs_commands` says that the model may run shell commands there.
    """

    name: str
    harness: str
    runtime: str
    in_process: bool = False
    instead_of: str | None = None
    runs_commands: bool = False

    def __str__(self) -> str:
        return f"{self.harness}, {'in-process' if self.in_process else self.runtime}"


def build(spec: Spec) -> tuple[Any, list[AgentInfo]]:
    """(config, what plays each agent); raises StageFailed("arguments") for what cannot run here."""
    from verifiers.v1.utils.loaders import resolve_env_config

    raw = merged({"taskset": {"id": spec.module, **spec.args}}, spec.extra)
    if spec.harness is not None:
        names = roles(_resolved(resolve_env_config, raw))
        raw = merged(raw, {name: {"harness": {"id": spec.harness}} for name in names})
    config = _resolved(resolve_env_config, raw)
    moved = [name for name, role in roles(config).items() if _is_moved(name, role, spec)]
    config = _resolved(
        resolve_env_config,
        merged(raw, {name: {"runtime": {"type": HERE}} for name in moved}),
    )
    hosted = v1_harness.run_in_process(spec.call_retries)
    seats = [_seat(name, config, hosted=hosted) for name in roles(config)]
    for seat in seats:
        if seat.name in moved:
            seat.instead_of = CLOUD
    return config, seats


def roles(config: Any) -> dict[str, Any]:
    """{name: AgentConfig} of the environment's agents; `agent` alone where there is one."""
    from verifiers.v1.configs.agent import AgentConfig

    found = {name: getattr(config, name) for name in type(config).model_fields}
    return {name: value for name, value in found.items() if isinstance(value, AgentConfig)}


def merged(base: Any, over: dict[str, Any]) -> dict[str, Any]:
    """`over` laid over `base`, dicts within dicts too."""
    result = dict(base)
    for name, value in over.items():
        both = isinstance(value, dict) and isinstance(result.get(name), dict)
        result[name] = merged(result[name], value) if both else value
    return result


def described(seats: list[AgentInfo]) -> str:
    """How the agents are played, in words: `null, in-process`."""
    return " + ".join(sorted({str(seat) for seat in seats}))


def run_here(seats: list[AgentInfo]) -> list[str]:
    """The agents whose harnesses are processes of this machine."""
    return [seat.name for seat in seats if seat.runtime == HERE and not seat.in_process]


def facts(seats: list[AgentInfo]) -> list[dict[str, Any]]:
    """The same as the parent reads it."""
    return [asdict(seat) for seat in seats]


def _resolved(resolve: Callable[[dict[str, Any]], Any], raw: dict[str, Any]) -> Any:
    try:
        return resolve(raw)
    except Exception as error:
        raise StageFailed("arguments", error) from error


def _is_moved(name: str, role: Any, spec: Spec) -> bool:
    """Whether a role's runtime is the Prime cloud, and nobody asked for that."""
    asked = "runtime" in (spec.extra.get(name) or {})
    return not asked and getattr(role.runtime, "type", None) == CLOUD


def _seat(name: str, config: Any, *, hosted: bool) -> AgentInfo:
    from verifiers.v1.harnesses.null import NullHarness
    from verifiers.v1.utils import loaders

    role = roles(config)[name]
    own = role.harness if role.harness is not None else _default_harness(config)
    kind = loaders.harness_class(own.id)
    task = loaders.task_type(config.taskset.id)
    runtime = str(role.runtime.type)
    is_null = kind is NullHarness
    seat = AgentInfo(
        name=name,
        harness="null" if is_null else str(own.id),
        runtime=runtime,
        in_process=hosted and is_null and runtime == HERE and not own.resolved_env,
        runs_commands=bool(kind.EXECUTES_CODE),
    )
    _require_place(seat, kind, task)
    return seat


def _default_harness(config: Any) -> Any:
    from verifiers.v1.configs.env import default_agent_harness

    return default_agent_harness(config.taskset.id)


def _require_place(seat: AgentInfo, kind: Any, task: Any) -> None:
    """Raise for a runtime that is not to be had, or that the harness or its tasks cannot use."""
    if seat.runtime == HERE:
        needing = task if task.NEEDS_CONTAINER else kind if kind.NEEDS_CONTAINER else None
        if needing is not None:
            chosen = json.dumps({seat.name: {"runtime": {"type": "docker"}}})
            raise _refused(
                f"the agent `{seat.name}` needs a container, as {needing.__name__} says: choose "
                f"its runtime with `-x '{chosen}'`"
            )
    program = PROGRAMS.get(seat.runtime)
    if program is not None:
        _require_program(program, seat.runtime)
    variable, file = ACCOUNTS.get(seat.runtime, (None, None))
    if variable is not None and not (
        os.environ.get(variable) or (file is not None and Path(file).expanduser().exists())
    ):
        raise _refused(
            f"the runtime `{seat.runtime}` needs an account: let it read your key with "
            f"`--env-var {variable}`"
        )


def _require_program(program: str, runtime: str) -> None:
    if shutil.which(program) is None:
        raise _refused(f"the runtime `{runtime}` needs `{program}`, which is not installed")
    try:
        asked = subprocess.run(
            [program, "version"],
            capture_output=True,
            encoding="utf-8",
            timeout=ANSWER_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise _refused(
            f"the runtime `{runtime}` needs `{program}`, which does not answer"
        ) from None
    if asked.returncode:
        said = asked.stderr.strip().rpartition("\n")[2]
        raise _refused(f"the runtime `{runtime}` needs `{program}`, which says: {said}")


def _refused(sentence: str) -> StageFailed:
    return StageFailed("arguments", BadArguments(sentence))
