"""Texts of an export: values that are safe to write, and facts about the run."""

import json
import math
from collections.abc import Mapping
from typing import Any

import msgspec

from prime_cli.core.formatting import format_number
from prime_cli.models.gateway.calls import POLICY
from prime_cli.models.prices import format_cost
from prime_cli.runs.plan import EvalPlan
from prime_cli.runs.saved_run import SavedRun
from prime_cli.runs.spending import spend_of
from prime_cli.runs.summary import Summary

_ENCODER = msgspec.json.Encoder()


def well_formed(text: str) -> str:
    """`text` with U+FFFD for each lone surrogate, which UTF-8 cannot encode."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def as_json(value: Any) -> bytes:
    """`value` (builtins or msgspec Structs) as JSON on one line; null for what JSON lacks."""
    try:
        return _ENCODER.encode(value)
    except (UnicodeEncodeError, OverflowError):
        # A folder of vf-eval may hold lone surrogates and integers of any size.
        sound = _sound(msgspec.to_builtins(value))
        return json.dumps(sound, ensure_ascii=False, separators=(",", ":")).encode()


def as_text(value: Any) -> str:
    """A string unchanged, null as nothing, anything else as JSON."""
    if value is None:
        return ""
    return well_formed(value) if isinstance(value, str) else as_json(value).decode()


def _sound(value: Any) -> Any:
    if isinstance(value, str):
        return well_formed(value)
    if isinstance(value, dict):
        return {well_formed(str(name)): _sound(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_sound(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


_LABELS = {
    "calls": "Calls",
    "input": "Input tokens",
    "cached": "Cached tokens",
    "output": "Output tokens",
    "reasoning": "Reasoning tokens",
    "input_tokens": "Mean input tokens",
    "output_tokens": "Mean output tokens",
    "estimated": "Calls with estimated tokens",
    "uncounted": "Calls without counted tokens",
}
"""Labels by key in a summary's usage; `*_tokens` are vf-eval's, per rollout."""


def spent_of(usage: Mapping[str, Any]) -> dict[str, str]:
    """Counts by label, and the cost if recorded: `unknown` rather than 0."""
    found = {
        label: format_number(usage[key])
        for key, label in _LABELS.items()
        if isinstance(usage.get(key), int | float) and usage[key]
    }
    return found | ({"Cost": format_cost(spend_of(usage))} if "cost" in usage else {})


def parts_of(usage: Mapping[str, Any]) -> list[tuple[str, dict[str, str]]]:
    """The same for each other role, and for each model if there are several."""
    roles = {name: of for name, of in usage.get("roles", {}).items() if name != POLICY}
    return [(name, spent_of(of)) for name, of in [*roles.items(), *usage.get("models", {}).items()]]


ENDPOINT = "Endpoint"
"""An address, perhaps of a private network: shown in files, but never pushed."""


def facts_of(saved: SavedRun, summary: Summary) -> dict[str, str]:
    """Known versions, digests and settings; never a key."""
    environment = summary.environment
    told: dict[str, str | None] = {
        "Environment version": environment.version,
        "Environment sha256": environment.sha256,
        "verifiers": environment.verifiers,
        "Harness": environment.harness,
    }
    if saved.manifest is not None:
        interpreter = saved.manifest.interpreter
        told["Python"] = interpreter.python if interpreter else None
        told |= _settings(saved.manifest.plan)
        told["Run by"] = f"prime {saved.manifest.prime}"
    else:
        official = saved.official or {}
        told["Sampling"] = _object(official.get("sampling_args"))
        told["Arguments"] = _object(official.get("env_args"))
        told["Run by"] = "vf-eval"
    return {label: text for label, text in told.items() if text}


def _settings(plan: EvalPlan) -> dict[str, str | None]:
    return {
        ENDPOINT: plan.endpoint,
        "Sampling": _object(plan.sampling),
        "Arguments": _object(plan.env_args),
    }


def _object(value: object) -> str | None:
    return as_text(value) if value else None
