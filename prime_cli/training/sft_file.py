"""A file of supervised fine-tuning in prime-rl's form, which `prime train sft.toml --sft` takes.

The official client sends it to the service. Keys as in `SFTConfig` of prime-rl-configs.
"""

import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from prime_cli.core.errors import UsageError
from prime_cli.training.config_file import FileRequest
from prime_cli.training.request import Reporter

_DEFAULTS = {"steps": 100, "batch": 128, "lr": 1e-6}
"""prime-rl's own where a file says nothing, but for the steps, which have no end there."""
_FIELDS = {
    "model.name": "model",
    "model.lora.rank": "lora",
    "max_steps": "steps",
    "data.batch_size": "batch",
    "data.name": "data",
    "data.seed": "seed",
    "optim.lr": "lr",
    "ckpt.interval": "save_every",
    "ckpt.keep_last": "keep",
    "eval.interval": "eval_every",
    "eval.num_examples": "eval_examples",
    "eval.group_size": "eval_rollouts",
    "eval.sampling.max_completion_tokens": "max_tokens",
}
_SETTINGS = {
    "optim.weight_decay": "weight_decay",
    "optim.max_norm": "max_grad_norm",
    "optim.betas1": "adam_beta1",
    "optim.betas2": "adam_beta2",
}
"""Keys that are settings of TRL."""
_ONE_VALUE = {"optim.type": "adamw", "data.type": "sft", "scheduler.type": "constant"}
_WANDB = {f"monitors.wandb.{key}": f"WANDB_{key.upper()}" for key in ("project", "entity", "name")}
_WITHOUT_EFFECT = (
    *("deployment", "slurm", "inference", "weight_broadcast", "run", "output_dir", "clean", "log"),
    *("monitors.file", "gc", "heartbeat", "dist_timeout_seconds", "data.num_workers"),
    *("data.micro_batch_size", "data.shuffle", "data.seq_len"),
)
"""Keys that say how prime-rl runs it, and change no result; rows are never cut here."""


def read_sft_file(path: Path) -> FileRequest | None:
    """What the file at `path` asks for; None if it has another form, or is none.

    Raises UsageError for what would change the training and cannot be done here.
    """
    try:
        found = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError):
        return None  # which the reader of hosted files explains
    if "data" not in found or {"trainer", "orchestrator"} & found.keys():
        return None
    sources = found.get("eval", {}).pop("source", None)
    flat = dict(_flat(found))
    values: dict[str, Any] = {"sft": True, **_DEFAULTS, **_environment(sources, path)}
    values |= {_FIELDS[key]: value for key, value in flat.items() if key in _FIELDS}
    settings = (f"{_SETTINGS[key]}={value}" for key, value in flat.items() if key in _SETTINGS)
    values["options"] = tuple(settings)
    wandb = {_WANDB[key]: str(value) for key, value in flat.items() if key in _WANDB}
    if wandb:
        values["report"] = Reporter.WANDB
    if "data" in values:  # relative to the file, if it is one
        place = path.parent / Path(values["data"]).expanduser()
        values["data"] = str(place) if place.is_file() else values["data"]
    others = [key for key in flat if key not in {*_FIELDS, *_SETTINGS, *_WANDB}]
    ignored = [key for key in others if key.startswith(_WITHOUT_EFFECT)]
    for key in others:
        if key not in ignored and _ONE_VALUE.get(key) != flat[key]:
            raise UsageError(f"{path}: `{key}` is not supported here", hint="remove the line")
    said = (f"Keys without effect on this machine: {', '.join(ignored)}",) if ignored else ()
    return FileRequest(values, wandb=wandb, said=said)


def _flat(table: Mapping[str, Any], place: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in table.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{place}{key}.")
        else:
            yield f"{place}{key}", value


def _environment(sources: Any, path: Path) -> dict[str, Any]:
    """The environment of `[[eval.source]]`, on which weights are compared."""
    if not sources:
        return {}
    if not isinstance(sources, list) or len(sources) > 1:
        raise UsageError(f"{path}: one `[[eval.source]]` is supported", hint="keep one of them")
    taskset = dict(sources[0].get("env", {}).get("taskset", {}))
    name = taskset.pop("id", None) or sources[0].get("name")
    return {"environment": name, **({"env_args": taskset} if taskset else {})}
