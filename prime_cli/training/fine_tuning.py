"""Supervised fine-tuning: its rows, where they come from and what is left out; and its file."""

import shutil
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from prime_cli.core.errors import NotFound, UsageError
from prime_cli.core.formatting import pluralize
from prime_cli.core.paths import storage_errors, write_atomically
from prime_cli.core.progress import Progress
from prime_cli.runs.export.exports import Format, export_run
from prime_cli.runs.export.sft import Chosen, message_of
from prime_cli.runs.listing import find_run
from prime_cli.runs.saved_run import open_run
from prime_cli.training.config_file import FileRequest
from prime_cli.training.request import Reporter, TrainRequest

ROWS = "data.jsonl"
"""In the folder of a training; the engine reads it after the first evaluation."""
_EXPORT = "`prime eval export RUN --to sft` writes such a file"
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


def find_data(training: TrainRequest, cwd: Path) -> str | None:
    """The file of rows or the folder of a run that `--data` names; None without `--sft`.

    Raises UsageError or NotFound.
    """
    if not training.sft:
        if training.data is not None:
            raise UsageError("`--data` is learned with `--sft` alone", hint="add `--sft`")
        return None
    if training.data is None:
        raise UsageError("`--sft` needs rows to learn", hint="`--data ROWS.jsonl`, or `--data RUN`")
    path = cwd / Path(training.data).expanduser()
    if path.is_file():
        _read_rows(path)
        return str(path)
    try:
        return str(find_run(training.data, cwd).folder.path)
    except NotFound as error:
        raise NotFound(
            f"`{training.data}` is no file of rows and no evaluation here",
            hint=f"{_EXPORT}; data sets are not downloaded",
        ) from error


def copy_data(data: str, folder: Path, progress: Progress) -> None:
    """Write the rows to `folder`; of a run those of the best rollout of each example.

    Raises StorageFailed.
    """
    if Path(data).is_file():
        with storage_errors(folder):
            shutil.copyfile(data, folder / ROWS)
        return
    saved, best = open_run(Path(data)), Chosen(only_best=True)
    done = export_run(saved, Format.SFT, folder / ROWS, progress, force=True, chosen=best)
    if done.selection is not None:
        progress.say(f"Rows: {done.selection.words}")


def leave_out_held_out(folder: Path, evaluations: Iterable[Path]) -> int:
    """Remove the rows of examples that `evaluations`, which are folders, were made on.

    Those whose prompt is the same, and others of the same number in the file. Returns how many;
    raises UsageError if none is left.
    """
    path = folder / ROWS
    asked = {_key(row.prompt) for each in evaluations for row in open_run(each).rows()}
    rows = _read_rows(path)
    numbers = {row.get("example_id") for row in rows if _prompt(row) in asked} - {None}
    kept = [
        row for row in rows if _prompt(row) not in asked and row.get("example_id") not in numbers
    ]
    if rows and not kept:
        raise UsageError(
            "All rows are of examples that the model is evaluated on",
            hint="take others, such as those of `prime eval run ENV --split train`, or evaluate "
            "on none: `--eval-examples 0`",
        )
    if len(kept) < len(rows):
        lines = b"".join(msgspec.json.encode(row) + b"\n" for row in kept)
        write_atomically(path, lines, mode=0o644)
    return len(rows) - len(kept)


def left_out_words(count: int) -> str:
    """A sentence about rows that were removed."""
    return f"Left out: {pluralize(count, 'row')} of examples that the model is evaluated on"


def _read_rows(path: Path) -> list[dict[str, Any]]:
    """The rows in a file; raises UsageError for what are none."""
    with storage_errors(path):
        lines = path.read_bytes().splitlines()
    rows: list[dict[str, Any]] = []
    for number, line in enumerate(lines, start=1):
        try:
            row = msgspec.json.decode(line, type=dict[str, Any])
            told = [each["role"] for each in row["messages"]]
        except (msgspec.MsgspecError, KeyError, TypeError) as error:
            raise UsageError(
                f"{path}: line {number} is no row with `messages`", hint=_EXPORT
            ) from error
        if "assistant" not in told:
            raise UsageError(f"{path}: line {number} has no answer to learn", hint=_EXPORT)
        rows.append(row)
    if not rows:
        raise UsageError(f"{path} has no rows", hint=_EXPORT)
    return rows


def _prompt(row: dict[str, Any]) -> str:
    messages = row["messages"]
    first = next(n for n, each in enumerate(messages) if each["role"] == "assistant")
    return _key(messages[:first])


def _key(messages: Any) -> str:
    """Messages as a text that two of the same have in common."""
    sound = [message_of(each) for each in messages] if isinstance(messages, list) else []
    return repr([each and (each["role"], each["content"]) for each in sound])


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
