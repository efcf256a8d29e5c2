"""The config file of hosted training: its tables, and what is refused about their keys.

The form is that of the official client up to 0.17: `model` is a text, `[[env]]` lists environments.
Since 0.18 the service takes prime-rl's own files, which `--engine prime-rl` passes on.
"""

import difflib
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, get_args, get_type_hints

import msgspec

from prime_cli.core.errors import NotFound, UsageError
from prime_cli.core.paths import storage_errors

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
        if value == "":
            raise UsageError(f"{path}: `{place}{key}` is empty", hint="remove the line")
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
