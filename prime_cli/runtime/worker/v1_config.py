"""The config of a v1 environment for a local run: which harness, and no sandboxes of others.

Upstream's own defaults are a harness that runs shell commands for the model, in the Prime cloud.
"""

import inspect
from typing import Any

from . import harness
from .failures import StageFailed
from .spec import Spec

PLAIN = (None, "", "bash", "null", "default")


def build(spec: Spec) -> tuple[Any, str]:
    """(config, harness name as reported): "in-process" where one process runs all rollouts."""
    from verifiers.v1.utils.loaders import resolve_env_config

    raw = merged({"taskset": {"id": spec.module, **spec.args}}, spec.extra)
    try:
        config = resolve_env_config(raw)
    except Exception as error:
        raise StageFailed("arguments", error) from error
    harnesses = {name: _harness(spec, role, config) for name, role in roles(config).items()}
    for name, chosen in harnesses.items():
        seat = {"runtime": {"type": "subprocess"}} if _is_remote(config, name, spec) else {}
        if chosen is not None:
            seat["harness"] = {"id": chosen}
        raw = merged(raw, {name: seat})
    names = {_reported(config, name, chosen) for name, chosen in harnesses.items()}
    return resolve_env_config(raw), "+".join(sorted(names))


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


def _harness(spec: Spec, role: Any, config: Any) -> str | None:
    """The id to set for a role, or None to leave what the environment itself chose."""
    if spec.harness not in (None, harness.NAME):
        return spec.harness
    own = role.harness.id if role.harness is not None else _default_harness(config)
    if own not in PLAIN:
        return None
    return harness.register(spec.call_retries) if _runs_in_process(config) else "null"


def _default_harness(config: Any) -> str:
    from verifiers.v1.configs.env import default_agent_harness

    return str(default_agent_harness(config.taskset.id).id)


def _reported(config: Any, role: str, chosen: str | None) -> str:
    if chosen == harness.MODULE:
        return harness.NAME
    own = roles(config)[role].harness
    return chosen or (own.id if own is not None else _default_harness(config))


def _is_remote(config: Any, role: str, spec: Spec) -> bool:
    """Whether a role's runtime is the Prime cloud and nobody asked for that."""
    asked = "runtime" in (spec.extra.get(role) or {})
    return not asked and getattr(roles(config)[role].runtime, "type", None) in (None, "prime")


def _runs_in_process(config: Any) -> bool:
    """No tool servers, neither of tasks nor shared, and no container."""
    from verifiers.v1 import Task, Taskset
    from verifiers.v1.utils import loaders

    task = loaders.task_type(config.taskset.id)
    taskset = loaders.taskset_class(config.taskset.id)
    return (
        _inherits(task, Task, "toolsets")
        and _inherits(taskset, Taskset, "toolsets")
        and not task.NEEDS_CONTAINER
    )


def _inherits(cls: type, base: Any, name: str) -> bool:
    """Whether `cls` has the method of `base` unchanged."""
    own, other = inspect.getattr_static(cls, name, None), inspect.getattr_static(base, name, None)
    return own is other
