"""What a folder of the v1 evaluator says of its run, under the keys of vf-eval's metadata.json."""

import json
import tomllib
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from prime_cli.core.errors import UsageError
from prime_cli.core.paths import storage_errors
from prime_cli.evals.folder import RunFolder
from prime_cli.evals.official import read_objects, well_formed

_CONFIGS = ("configs/resolved/eval.json", "config.toml")
"""Of verifiers 0.3.1 and later, and of those before."""

_NOT_ARGUMENTS = ("id", "task", "system_prompt")


def read_settings(folder: RunFolder) -> dict[str, Any]:
    """Environment, model, sizes and sampling of the run, as far as they are known.

    Raises UsageError for a config that cannot be read.
    """
    config = _read_config(folder.path)
    env = _table(config, "env")
    taskset = _table(env, "taskset") or _table(config, "taskset")
    # The folder's name is `<taskset>--<model>--<harness>--<8 hex digits>`.
    named = folder.path.name.split("--")
    sampling = _table(config, "sampling").items()
    told = {
        "env_id": taskset.get("id") or named[0],
        "env_args": {name: taskset[name] for name in taskset if name not in _NOT_ARGUMENTS},
        "model": config.get("model") or "/".join(named[1:-2]) or "?",
        "base_url": _table(config, "client").get("base_url"),
        "num_examples": _table(config, "select").get("limit") or config.get("num_tasks"),
        "rollouts_per_example": config.get("num_rollouts"),
        "sampling_args": {name: value for name, value in sampling if value is not None},
        "date": _begun(folder),
        "framework": "verifiers",
        "harness": _table(_table(env, "agent"), "harness").get("id"),
        "version_info": {"vf_version": _version(folder.traces)},
    }
    return well_formed({name: value for name, value in told.items() if value is not None})


def _read_config(folder: Path) -> Mapping[str, Any]:
    path = next((folder / name for name in _CONFIGS if (folder / name).is_file()), None)
    if path is None:
        return {}
    with storage_errors(path):
        content = path.read_bytes()
    try:
        text = content.decode()
        found = json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path} is not the config of an evaluation: {error}") from error
    return found if isinstance(found, dict) else {}


def _table(config: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = config.get(name)
    return found if isinstance(found, dict) else {}


def _begun(folder: RunFolder) -> str:
    paths = [folder.path / name for name in _CONFIGS] + [folder.traces]
    path = next(path for path in paths if path.is_file())
    with storage_errors(path):
        seconds = path.stat().st_mtime
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")


def _version(traces: Path) -> str | None:
    """The verifiers that wrote the first line."""
    first = next((line for _, _, line in read_objects(traces)), {})
    inner = first.get("traces")
    trace = inner[0] if isinstance(inner, list) and inner else first
    version = _table(trace, "verifiers").get("version")
    return str(version) if version else None
