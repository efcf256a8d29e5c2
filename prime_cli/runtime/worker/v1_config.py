"""The config of a v1 environment: verifiers' own, except for where agents run.

Its default is a sandbox of the Prime cloud; unless chosen explicitly, agents run locally instead.
"""

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, get_args

from . import v1_harness
from .environment import SPLITS
from .failures import BadArguments, StageFailed
from .spec import WorkerSpec

CLOUD, LOCAL = "prime", "subprocess"
PROGRAMS = {"docker": "docker", "podman": "podman", "apptainer": "apptainer"}
ANSWER_S = 30.0
ACCOUNTS = {
    "prime": ("PRIME_API_KEY", "~/.prime/config.json"),
    "modal": ("MODAL_TOKEN_ID", "~/.modal.toml"),
    "e2b": ("E2B_API_KEY", None),
}
"""{runtime: (variable with its key, file that may hold it instead)}."""


@dataclass
class AgentInfo:
    """One agent: the id of its harness and the type of its runtime.

    `instead_of` is the default runtime, if another one is used. `runs_commands` says that the model
    can run shell commands.
    """

    name: str
    harness: str
    runtime: str
    in_process: bool = False
    instead_of: str | None = None
    runs_commands: bool = False

    def __str__(self) -> str:
        return f"{self.harness}, {'in-process' if self.in_process else self.runtime}"


def build(spec: WorkerSpec) -> tuple[Any, list[AgentInfo]]:
    """The config and its agents; raises StageFailed("arguments") for what cannot run here."""
    from verifiers.v1.utils.loaders import resolve_env_config

    raw = merge({"taskset": {"id": spec.module, **spec.args}}, spec.extra)
    if spec.options.get("split") is not None:
        raw = merge(raw, {"taskset": _split(_resolved(resolve_env_config, raw).taskset, spec)})
    if spec.harness is not None:
        names = roles(_resolved(resolve_env_config, raw))
        raw = merge(raw, {name: {"harness": {"id": spec.harness}} for name in names})
    config = _resolved(resolve_env_config, raw)
    moved = [name for name, role in roles(config).items() if _is_moved(name, role, spec)]
    config = _resolved(
        resolve_env_config,
        merge(raw, {name: {"runtime": {"type": LOCAL}} for name in moved}),
    )
    in_process = v1_harness.run_in_process(spec.call_retries)
    agents = [_agent_info(name, config, spec, in_process=in_process) for name in roles(config)]
    for agent in agents:
        if agent.name in moved:
            agent.instead_of = CLOUD
    return config, agents


def as_loaded(agents: list[AgentInfo], config: Any) -> list[AgentInfo]:
    """`agents` where the loaded environment has them run: a judge may share the solver's box."""
    runtimes = {name: str(role.runtime.type) for name, role in roles(config).items()}
    return [
        agent
        if agent.runtime == runtimes[agent.name]
        else replace(agent, runtime=runtimes[agent.name], in_process=False, instead_of=None)
        for agent in agents
    ]


def _split(taskset: Any, spec: WorkerSpec) -> dict[str, Any]:
    """The field of a taskset's config that takes the flag `--split`, with its value."""
    fields, wanted = type(taskset).model_fields, spec.options["split"]
    named = next((name for name in SPLITS if name in fields), None)
    if named is None:
        known = ", ".join(name for name in fields if name != "id") or "nothing"
        problem = f"its taskset takes no split (it takes: {known})"
    elif named in spec.args:
        problem = f"`{named}` is given with `-a`, and again with `--split`"
    else:
        spec.said.append(f"The split `{wanted}` is passed to the taskset as `{named}`")
        return {named: wanted}
    raise StageFailed("arguments", BadArguments(problem))


def splits_of(config: Any) -> dict[str, Any]:
    """A taskset's config for each value of its split, where the field's type lists them."""
    fields = type(config).model_fields
    named = next((name for name in SPLITS if name in fields), None)
    values = get_args(fields[named].annotation) if named else ()
    if not all(isinstance(value, str) for value in values):
        return {}
    return {value: config.model_copy(update={named: value}) for value in values}


def roles(config: Any) -> dict[str, Any]:
    """{name: AgentConfig} of the environment's agents; `agent` alone where there is one."""
    from verifiers.v1.configs.agent import AgentConfig

    found = {name: getattr(config, name) for name in type(config).model_fields}
    return {name: value for name, value in found.items() if isinstance(value, AgentConfig)}


def merge(base: Any, over: dict[str, Any]) -> dict[str, Any]:
    """`base` updated with `over`, recursively."""
    result = dict(base)
    for name, value in over.items():
        both = isinstance(value, dict) and isinstance(result.get(name), dict)
        result[name] = merge(result[name], value) if both else value
    return result


def describe(agents: list[AgentInfo]) -> str:
    """The agents in words, such as `null, in-process`."""
    return " + ".join(sorted({str(agent) for agent in agents}))


def local_agents(agents: list[AgentInfo]) -> list[str]:
    """The names of agents whose harnesses are processes of this machine."""
    return [agent.name for agent in agents if agent.runtime == LOCAL and not agent.in_process]


def to_dicts(agents: list[AgentInfo]) -> list[dict[str, Any]]:
    """The agents as the parent reads them."""
    return [asdict(agent) for agent in agents]


def _resolved(resolve: Callable[[dict[str, Any]], Any], raw: dict[str, Any]) -> Any:
    try:
        return resolve(raw)
    except Exception as error:
        raise StageFailed("arguments", _with_flags(error)) from error


def _with_flags(error: Exception) -> Exception:
    """What pydantic finds wrong, in one line and with the flags that set it."""
    found = getattr(error, "errors", None)
    if not callable(found):
        return error
    paths = [(".".join(map(str, each["loc"])).replace("_", "-"), each["msg"]) for each in found()]
    return BadArguments("; ".join(f"`--env.{path}`: {problem}" for path, problem in paths))


def _is_moved(name: str, role: Any, spec: WorkerSpec) -> bool:
    """Whether a role runs in the Prime cloud only by default."""
    is_chosen = "runtime" in (spec.extra.get(name) or {})
    return not is_chosen and getattr(role.runtime, "type", None) == CLOUD


def _agent_info(name: str, config: Any, spec: WorkerSpec, *, in_process: bool) -> AgentInfo:
    from verifiers.v1.harnesses.null import NullHarness
    from verifiers.v1.utils import loaders

    role = roles(config)[name]
    own = role.harness if role.harness is not None else default_harness(config)
    kind = loaders.harness_class(own.id)
    task = loaders.task_type(config.taskset.id)
    runtime = str(role.runtime.type)
    is_null = kind is NullHarness
    agent = AgentInfo(
        name=name,
        harness="null" if is_null else str(own.id),
        runtime=runtime,
        in_process=in_process and is_null and runtime == LOCAL and not own.resolved_env,
        runs_commands=bool(kind.EXECUTES_CODE),
    )
    _require_runtime(agent, kind, task)
    _require_account(agent, spec.token)
    return agent


def default_harness(config: Any) -> Any:
    """The config of the harness of agents that choose none."""
    from verifiers.v1.configs.env import default_agent_harness

    return default_agent_harness(config.taskset.id)


def _require_runtime(agent: AgentInfo, kind: Any, task: Any) -> None:
    """Raise for a runtime that is unavailable, or that the harness or its tasks cannot use."""
    if agent.runtime == LOCAL:
        needing = task if task.NEEDS_CONTAINER else kind if kind.NEEDS_CONTAINER else None
        if needing is not None:
            chosen = json.dumps({agent.name: {"runtime": {"type": "docker"}}})
            raise _refused(
                f"the agent `{agent.name}` needs a container, as {needing.__name__} says: choose "
                f"its runtime with `-x '{chosen}'`"
            )
    program = PROGRAMS.get(agent.runtime)
    if program is not None:
        _require_program(program, agent.runtime)


def _require_account(agent: AgentInfo, stand_in: str) -> None:
    """The gateway's token, which stands in for a key, is no account."""
    variable, file = ACCOUNTS.get(agent.runtime, (None, None))
    if variable is None or (file is not None and Path(file).expanduser().exists()):
        return
    if os.environ.get(variable) in (None, "", stand_in):
        raise _refused(
            f"the runtime `{agent.runtime}` needs an account: let it read your key with "
            f"`--env-var {variable}`"
        )


def _require_program(program: str, runtime: str) -> None:
    if shutil.which(program) is None:
        raise _refused(f"the runtime `{runtime}` needs `{program}`, which is not installed")
    try:
        result = subprocess.run(
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
    if result.returncode:
        message = result.stderr.strip().rpartition("\n")[2]
        raise _refused(f"the runtime `{runtime}` needs `{program}`, which says: {message}")


def _refused(sentence: str) -> StageFailed:
    return StageFailed("arguments", BadArguments(sentence))
