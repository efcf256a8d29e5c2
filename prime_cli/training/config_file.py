"""A config file of hosted training as the flags of `prime train`."""

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from prime_cli.core.errors import UsageError
from prime_cli.core.formatting import pluralize
from prime_cli.evals.planning.request import EvalRequest
from prime_cli.training.hosted_file import (
    EnvTable,
    EvalTable,
    HostedFile,
    SamplingTable,
    WandbTable,
    read_hosted_file,
)
from prime_cli.training.request import Reporter, TrainRequest


@dataclass(frozen=True)
class FileRequest:
    """What a file asks for: `values` are fields of the request by their names.

    `others` are those that differ for each further environment, `ratios` the shares of all. `wandb`
    are variables for the engine, `said` the sentences about what is not done here.
    """

    values: Mapping[str, Any]
    others: tuple[Mapping[str, Any], ...] = ()
    ratios: tuple[float, ...] = ()
    wandb: Mapping[str, str] = field(default_factory=dict)
    said: tuple[str, ...] = ()


BATCH, GROUP, STEPS = 128, 8, 100
"""The defaults of hosted training: rollouts in a batch and of an example, and steps."""
LORA_RANK, LEARNING_RATE = 16, 1e-4
"""Those of hosted training, which trains adapters alone; its files do not say the rank."""

ADAPTERS_NOTE = (
    f"Adapters of rank {LORA_RANK} are trained, as the service does; `--lora 0`: all weights"
)

_OF_THE_SERVICE = (
    *("adapters", "infrastructure", "tailscale", "cluster_name", "oversampling_factor"),
    *("max_async_level", "trajectory_strategy", "buffer", "val", "name", "type"),
)
"""Keys that only say how the service runs a training, or that it ignores itself."""
_REFUSED = {
    "teacher": "distillation is not offered",
    "checkpoint_id": "name the folder of the weights as `model`",
    "run_config": "give settings of TRL by `--set KEY=VALUE`, those of prime-rl after `--`",
    "pre_batch_filters": "`--refill N` replaces groups without spread",
    "post_batch_filters": "`--refill N` replaces groups without spread",
}
_REFUSED_OF_ENV = (
    *("max_turns", "max_input_tokens", "max_output_tokens", "max_total_tokens", "timeout"),
    *("retries", "sampling", "group_size"),
)


OF_ENVIRONMENT = frozenset(("environment", "env_args", "extra_args", "max_retries"))
"""What each `[[env]]` says for itself."""


def read_config_file(path: Path) -> FileRequest:
    """The request of the file at `path`.

    Raises NotFound, or UsageError for what is unknown, invalid or cannot be done here.
    """
    return request_of(read_hosted_file(path), path)


def with_file(
    file: FileRequest, request: EvalRequest, training: TrainRequest, given: Container[str]
) -> tuple[list[EvalRequest], TrainRequest]:
    """A request for each environment and that of the training with the file's values, except for
    the fields `given` on the command line.
    """
    names = {each.name for each in fields(TrainRequest)}
    values = {name: each for name, each in file.values.items() if name not in given}
    own = {name: each for name, each in values.items() if name in names}
    if "lora" in given and not training.lora:
        own.pop("lora_alpha", None)  # it is of the adapters that the flag switches off
    shared = {name: each for name, each in values.items() if name not in names | OF_ENVIRONMENT}
    requests = []
    for env in (file.values, *file.others):
        told = {name: env[name] for name in OF_ENVIRONMENT & env.keys() if name not in given}
        requests.append(replace(request, **shared, **told))
    return requests, replace(training, **own)


def request_of(file: HostedFile, path: Path) -> FileRequest:
    """What `file` asks for; relative paths in it count from the folder of `path`."""
    _refuse_unsupported(file, path)
    group = file.rollouts_per_example or GROUP
    batch = file.batch_size or BATCH
    if batch % group:
        raise UsageError(
            f"{path}: batch_size {batch} is not a multiple of rollouts_per_example {group}",
            hint="a batch consists of whole groups",
        )
    values = {
        "model": file.model,
        "steps": file.max_steps or STEPS,
        "batch": batch // group,
        "rollouts_per_example": group,
        "max_concurrent": file.max_inflight_rollouts,
        "lr": file.learning_rate or LEARNING_RATE,
        "lora": LORA_RANK,
        "lora_alpha": file.lora_alpha,
        "save_every": file.checkpoints and file.checkpoints.interval,
        "env_file": _secrets_of(file, path),
        "report": None if file.wandb is None else Reporter.WANDB,
        **_sampling_of(file.sampling),
        **_evaluation_of(file.eval, file, path),
    }
    first, *others = map(_values_of, file.env)
    return FileRequest(
        first | {name: value for name, value in values.items() if value is not None},
        tuple(others),
        _ratios_of(file.env, path),
        _wandb_of(file.wandb),
        tuple(_notes(file)),
    )


def _values_of(env: EnvTable) -> dict[str, Any]:
    """What an `[[env]]` says, as fields of the request."""
    values = {
        "environment": _environment_of(env),
        "env_args": _args_of(env) or None,
        "extra_args": {"agent": {"harness": env.harness}} if env.harness else None,
        "max_retries": env.max_retries,
    }
    return {name: value for name, value in values.items() if value is not None}


def _ratios_of(envs: Sequence[EnvTable], path: Path) -> tuple[float, ...]:
    """The shares of several environments; none where the file leaves them to their sizes."""
    found = tuple(env.ratio for env in envs if env.ratio is not None)
    if len(envs) == 1 or not found:
        return ()
    if len(found) < len(envs):
        raise UsageError(
            f"{path}: {len(found)} of {len(envs)} environments have a `ratio`",
            hint="give one to each `[[env]]`, or to none",
        )
    return found


def _secrets_of(file: HostedFile, path: Path) -> Path | None:
    """The file with the environment's variables."""
    lists = ([each] if isinstance(each, str) else each for each in (file.env_file, file.env_files))
    named = [name for each in lists for name in each]
    if len(named) > 1:
        raise UsageError(
            f"{path} names {pluralize(len(named), 'file')} of variables, and one is supported",
            hint="join them in one file, and name it as `env_files`",
        )
    return path.parent / named[0] if named else None


def _refuse_unsupported(file: HostedFile, path: Path) -> None:
    if file.loss != "rl":
        raise UsageError(f'{path}: loss = "{file.loss}" is not offered', hint='only "rl" is')
    for key, hint in _REFUSED.items():
        if getattr(file, key):
            raise UsageError(f"{path}: `{key}` is not supported here", hint=hint)
    for key in _REFUSED_OF_ENV:
        if any(getattr(env, key) is not None for env in file.env):
            raise UsageError(
                f"{path}: `env.{key}` is not supported here",
                hint="give it to the environment with `args`, or with the flags of `prime train`",
            )
    if file.sampling.temp_scheduler is not None:
        raise UsageError(f"{path}: `sampling.temp_scheduler` is not supported here")
    if file.sampling.enable_thinking is not None and file.sampling.reasoning_effort is not None:
        raise UsageError(f"{path}: enable_thinking and reasoning_effort are mutually exclusive")


def _environment_of(env: EnvTable) -> str:
    name = env.id or (env.taskset or {}).get("id")
    if not isinstance(name, str) or not name:
        raise UsageError("An `[[env]]` has no `id`", hint='such as `id = "owner/name"`')
    return f"{name}@{env.version}" if env.version and "@" not in name else name


def _args_of(env: EnvTable) -> dict[str, Any]:
    taskset = {key: value for key, value in (env.taskset or {}).items() if key != "id"}
    return {**taskset, **env.args}


def _sampling_of(table: SamplingTable) -> dict[str, Any]:
    more = dict(table.extra_body)
    if table.enable_thinking is not None:
        template = more.get("chat_template_kwargs", {})
        more["chat_template_kwargs"] = {**template, "enable_thinking": table.enable_thinking}
    if table.reasoning_effort is not None:
        more["reasoning_effort"] = table.reasoning_effort
    return {
        "max_tokens": table.max_tokens,
        "temperature": table.temperature,
        "sampling": more or None,
    }


def _evaluation_of(table: EvalTable | None, file: HostedFile, path: Path) -> dict[str, Any]:
    if table is None:
        return {}
    trained = {_environment_of(each) for each in file.env}
    named = [_environment_of(each) for each in table.env]
    other = next((each for each in named if each not in trained), None)
    if other is not None:
        raise UsageError(
            f"{path}: `[[eval.env]]` names {other}, which is not trained on",
            hint="evaluate the trained weights on it afterwards: `prime eval run`",
        )
    return {
        "eval_every": table.interval,
        "eval_examples": None if table.num_examples == -1 else table.num_examples,
        "eval_rollouts": table.rollouts_per_example,
    }


def _wandb_of(table: WandbTable | None) -> dict[str, str]:
    if table is None:
        return {}
    named = {"ENTITY": table.entity, "PROJECT": table.project, "NAME": table.name}
    return {f"WANDB_{name}": value for name, value in named.items() if value}


def _notes(file: HostedFile) -> Iterator[str]:
    ignored = [key for key in _OF_THE_SERVICE if getattr(file, key) is not None]
    if file.checkpoints is not None and file.checkpoints.keep_cloud is not None:
        ignored.append("checkpoints.keep_cloud")
    if len(file.env) == 1 and file.env[0].ratio is not None:
        ignored.append("env.ratio")
    if file.eval is not None and file.eval.env:
        named = {_environment_of(each) for each in file.eval.env}
        others = [env for env in map(_environment_of, file.env) if env not in named]
        if others:
            also = ", ".join(others)
            yield f"All environments are evaluated, also {also}, which `[[eval.env]]` leaves out"
    if file.eval is not None:
        of_eval = ("skip_first_step", "eval_base_model", "sampling")
        ignored += [f"eval.{key}" for key in of_eval if getattr(file.eval, key) is not None]
        ignored += ["eval.num_examples = -1"] if file.eval.num_examples == -1 else []
    if ignored:
        keys = ", ".join(f"`{key}`" for key in ignored)
        yield f"Keys without effect on this machine: {keys}"
