"""A config file of hosted training, read as the flags of `prime train`.

The form is that of the official client up to 0.17: `model` is a text, `[[env]]` lists environments.
Since 0.18 the service takes prime-rl's own files, which `--engine prime-rl` passes on.
"""

import difflib
import tomllib
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Annotated, Any, get_args, get_type_hints

import msgspec

from prime_cli.core.errors import NotFound, UsageError
from prime_cli.core.formatting import pluralize
from prime_cli.core.paths import storage_errors
from prime_cli.evals.planning.request import EvalRequest
from prime_cli.training.request import Reporter, TrainRequest

LARGEST = 1024 * 1024
"""The largest file, in bytes."""

Whole = Annotated[int, msgspec.Meta(ge=1)]
Positive = Annotated[float, msgspec.Meta(gt=0)]


class SamplingTable(msgspec.Struct, kw_only=True, frozen=True):
    """`[sampling]`: of every call of the policy."""

    max_tokens: Whole | None = None
    temperature: Annotated[float, msgspec.Meta(ge=0)] | None = None
    temp_scheduler: dict[str, Any] | None = None
    extra_body: dict[str, Any] = {}
    enable_thinking: bool | None = None
    reasoning_effort: str | None = None


class EnvTable(msgspec.Struct, kw_only=True, frozen=True):
    """One `[[env]]`: `id` and `args`, or a `taskset` and `harness` of verifiers v1."""

    id: str | None = None
    version: str | None = None
    name: str | None = None
    args: dict[str, Any] = {}
    taskset: dict[str, Any] | None = None
    harness: dict[str, Any] | None = None
    ratio: Positive | None = None
    max_retries: Annotated[int, msgspec.Meta(ge=0)] | None = None
    group_size: Whole | None = None
    sampling: SamplingTable | None = None
    max_turns: Whole | None = None
    max_input_tokens: Whole | None = None
    max_output_tokens: Whole | None = None
    max_total_tokens: Whole | None = None
    timeout: dict[str, Any] | None = None
    retries: dict[str, Any] | None = None
    pool: dict[str, Any] | None = None
    multiplex: Whole | None = None
    num_examples: int | None = None
    rollouts_per_example: Whole | None = None


class EvalTable(msgspec.Struct, kw_only=True, frozen=True):
    """`[eval]`: every `interval` steps, on `num_examples` that are not trained on."""

    interval: Whole | None = None
    num_examples: int | None = None
    rollouts_per_example: Whole | None = None
    skip_first_step: bool | None = None
    eval_base_model: bool | None = None
    env: list[EnvTable] = []
    sampling: SamplingTable | None = None


class WandbTable(msgspec.Struct, kw_only=True, frozen=True):
    """`[wandb]`: where the engine reports its metrics."""

    entity: str | None = None
    project: str | None = None
    name: str | None = None


class CheckpointsTable(msgspec.Struct, kw_only=True, frozen=True):
    """`[checkpoints]`: saved every `interval` steps."""

    interval: Whole | None = None
    keep_cloud: int | None = None


class HostedFile(msgspec.Struct, kw_only=True, frozen=True):
    """The whole file; `batch_size` counts rollouts."""

    model: str
    env: Annotated[list[EnvTable], msgspec.Meta(min_length=1)]
    name: str | None = None
    max_steps: Whole | None = None
    batch_size: Whole | None = None
    rollouts_per_example: Whole | None = None
    max_inflight_rollouts: Whole | None = None
    learning_rate: Positive | None = None
    lora_alpha: Whole | None = None
    sampling: SamplingTable = SamplingTable()
    eval: EvalTable | None = None
    wandb: WandbTable | None = None
    checkpoints: CheckpointsTable | None = None
    env_file: str | list[str] = []
    env_files: str | list[str] = []
    loss: str = "rl"
    teacher: dict[str, Any] | None = None
    checkpoint_id: str | None = None
    run_config: dict[str, Any] = {}
    pre_batch_filters: list[dict[str, Any]] = []
    post_batch_filters: list[dict[str, Any]] = []
    val: dict[str, Any] | None = None
    buffer: dict[str, Any] | None = None
    adapters: dict[str, Any] | None = None
    infrastructure: dict[str, Any] | None = None
    tailscale: dict[str, Any] | None = None
    cluster_name: str | None = None
    oversampling_factor: float | None = None
    max_async_level: int | None = None
    trajectory_strategy: str | None = None
    type: str | None = None


@dataclass(frozen=True)
class FileRequest:
    """What a file asks for: `values` are fields of the request by their names.

    `wandb` are variables for the engine, `said` the sentences about what is not done here.
    """

    values: Mapping[str, Any]
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
    *("max_async_level", "trajectory_strategy", "buffer", "val", "name", "type", "lora_alpha"),
)
"""Keys that only say how the service runs a training, or that it ignores itself.

The alpha of adapters is twice their rank here.
"""
_REFUSED = {
    "teacher": "distillation is not offered",
    "checkpoint_id": "name the folder of the weights as `model`",
    "run_config": "give settings of TRL by `--set KEY=VALUE`, those of prime-rl after `--`",
    "pre_batch_filters": "groups without spread are counted, and teach nothing",
    "post_batch_filters": "groups without spread are counted, and teach nothing",
}
_REFUSED_OF_ENV = (
    *("max_turns", "max_input_tokens", "max_output_tokens", "max_total_tokens", "timeout"),
    *("retries", "sampling", "group_size"),
)


def read_config_file(path: Path) -> FileRequest:
    """The request of the file at `path`.

    Raises NotFound, or UsageError for what is unknown, invalid or cannot be done here.
    """
    return request_of(read_hosted_file(path), path)


def with_file(
    file: FileRequest, request: EvalRequest, training: TrainRequest, given: Container[str]
) -> tuple[EvalRequest, TrainRequest]:
    """Both requests with the file's values, except for the fields `given` on the command line."""
    values = {name: each for name, each in file.values.items() if name not in given}
    names = {each.name for each in fields(TrainRequest)}
    own = {name: each for name, each in values.items() if name in names}
    others = {name: each for name, each in values.items() if name not in names}
    return replace(request, **others), replace(training, **own)


def read_hosted_file(path: Path) -> HostedFile:
    """The file at `path`; raises NotFound or UsageError."""
    if not path.is_file():
        raise NotFound(f"There is no file {path}")
    with storage_errors(path):
        content = path.read_bytes()
    if len(content) > LARGEST:
        raise UsageError(f"{path} is larger than 1 MiB")
    try:
        found = tomllib.loads(content.decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} is not valid TOML: {error}") from error
    _refuse_other_forms(found, path)
    _refuse_unknown(found, HostedFile, "", path)
    try:
        return msgspec.convert(found, HostedFile)
    except msgspec.ValidationError as error:
        raise UsageError(f"{path} is invalid: {error}") from error


def request_of(file: HostedFile, path: Path) -> FileRequest:
    """What `file` asks for; relative paths in it count from the folder of `path`."""
    env = _only_env(file, path)
    _refuse_unsupported(file, env, path)
    group = file.rollouts_per_example or GROUP
    batch = file.batch_size or BATCH
    if batch % group:
        raise UsageError(
            f"{path}: batch_size {batch} is not a multiple of rollouts_per_example {group}",
            hint="a batch consists of whole groups",
        )
    values = {
        "environment": _environment_of(env),
        "model": file.model,
        "steps": file.max_steps or STEPS,
        "batch": batch // group,
        "rollouts_per_example": group,
        "max_concurrent": file.max_inflight_rollouts,
        "lr": file.learning_rate or LEARNING_RATE,
        "lora": LORA_RANK,
        "env_args": _args_of(env) or None,
        "extra_args": {"agent": {"harness": env.harness}} if env.harness else None,
        "max_retries": env.max_retries,
        "save_every": file.checkpoints and file.checkpoints.interval,
        "env_file": _secrets_of(file, path),
        "report": None if file.wandb is None else Reporter.WANDB,
        **_sampling_of(file.sampling),
        **_evaluation_of(file.eval, file, path),
    }
    return FileRequest(
        {name: value for name, value in values.items() if value is not None},
        _wandb_of(file.wandb),
        tuple(_notes(file)),
    )


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


def _refuse_other_forms(found: Mapping[str, Any], path: Path) -> None:
    if isinstance(found.get("model"), dict) or {"orchestrator", "trainer"} & found.keys():
        raise UsageError(
            f"{path} is a file of prime-rl, not of hosted training",
            hint=f"`prime train ENV -m MODEL --engine prime-rl --engine-dir DIR @ {path}`",
        )
    if isinstance(found.get("eval"), list):
        raise UsageError(f"{path} is a suite of evaluations", hint=f"`prime eval run {path}`")
    for key, example in (("model", 'model = "Qwen/Qwen3-0.6B"'), ("env", '[[env]] id = "NAME"')):
        if key not in found:
            raise UsageError(f"{path} has no `{key}`", hint=f"such as `{example}`")


def _refuse_unknown(found: Mapping[str, Any], table: type, place: str, path: Path) -> None:
    hints = get_type_hints(table)
    for key, value in found.items():
        if key not in hints:
            close = difflib.get_close_matches(key, hints, n=1)
            hint = f"did you mean `{close[0]}`?" if close else f"known are {', '.join(hints)}"
            raise UsageError(f"{path}: `{place}{key}` is not a key of the file", hint=hint)
        inner = next(_tables(hints[key]), None)
        if inner is not None:
            for each in value if isinstance(value, list) else [value]:
                if isinstance(each, dict):
                    _refuse_unknown(each, inner, f"{place}{key}.", path)


def _tables(kind: Any) -> Iterator[type]:
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        yield kind
    for part in get_args(kind):
        yield from _tables(part)


def _only_env(file: HostedFile, path: Path) -> EnvTable:
    if len(file.env) > 1:
        raise UsageError(
            f"{path} names {pluralize(len(file.env), 'environment')}, and `prime train` takes one",
            hint="keep one `[[env]]`, or write one environment that combines them",
        )
    return file.env[0]


def _refuse_unsupported(file: HostedFile, env: EnvTable, path: Path) -> None:
    if file.loss != "rl":
        raise UsageError(f'{path}: loss = "{file.loss}" is not offered', hint='only "rl" is')
    for key, hint in _REFUSED.items():
        if getattr(file, key):
            raise UsageError(f"{path}: `{key}` is not supported here", hint=hint)
    for key in _REFUSED_OF_ENV:
        if getattr(env, key) is not None:
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
    other = [each for each in table.env if _environment_of(each) != _environment_of(file.env[0])]
    if other:
        raise UsageError(
            f"{path}: `[[eval.env]]` names {_environment_of(other[0])}, which is not trained on",
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
    if file.env[0].ratio is not None:
        ignored.append("env.ratio")
    if file.eval is not None:
        of_eval = ("skip_first_step", "eval_base_model", "sampling")
        ignored += [f"eval.{key}" for key in of_eval if getattr(file.eval, key) is not None]
        ignored += ["eval.num_examples = -1"] if file.eval.num_examples == -1 else []
    if ignored:
        keys = ", ".join(f"`{key}`" for key in ignored)
        yield f"Keys without effect on this machine: {keys}"
