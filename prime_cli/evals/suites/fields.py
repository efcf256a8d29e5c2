"""What each field of a suite's evaluation stands for: a flag of `prime eval run`."""

import difflib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from prime_cli.core.errors import UsageError
from prime_cli.evals.planning.request import EvalRequest, parse_deadlines
from prime_cli.runs.plan import Deadlines

Check = Callable[[object], bool]


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value)


def _is_flag(value: object) -> bool:
    return isinstance(value, bool)


def _is_table(value: object) -> bool:
    return isinstance(value, dict)


def _is_texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


_TEXT = (_is_text, "a text")
_WHOLE = (_is_whole, "a whole number")
_NUMBER = (_is_number, "a number")
_TABLE = (_is_table, "a table")
_FLAG = (_is_flag, "true or false")
_TEXTS = (_is_texts, "a list of texts")

_FIELDS: dict[str, tuple[str, tuple[Check, str]]] = {
    "env_id": ("environment", _TEXT),
    "args": ("env_args", _TABLE),
    "extra_env_kwargs": ("extra_args", _TABLE),
    "model": ("model", _TEXT),
    "endpoint_id": ("model", _TEXT),
    "provider": ("provider", _TEXT),
    "api_base_url": ("base_url", _TEXT),
    "api_key_var": ("key_var", _TEXT),
    "endpoints_path": ("endpoints_path", _TEXT),
    "sampling_args": ("sampling", _TABLE),
    "max_tokens": ("max_tokens", _WHOLE),
    "temperature": ("temperature", _NUMBER),
    "num_examples": ("num_examples", _WHOLE),
    "rollouts_per_example": ("rollouts_per_example", _WHOLE),
    "max_concurrent": ("max_concurrent", _WHOLE),
    "max_retries": ("max_retries", _WHOLE),
    "max_error_rate": ("max_error_rate", _NUMBER),
    "fail_fast": ("fail_fast", _FLAG),
    "independent_scoring": ("independent_scoring", _FLAG),
    "state_columns": ("state_columns", _TEXTS),
    "header": ("headers", _TEXTS),
    "headers": ("headers", _TABLE),
    "env_vars": ("env_vars", _TEXTS),
    "verifiers": ("verifiers", _TEXT),
    "python": ("python", _TEXT),
    "sandbox": ("sandbox", _FLAG),
    "allow_net": ("allow_net", _FLAG),
    "only_gateway": ("only_gateway", _FLAG),
    "cache": ("cache", _FLAG),
    "tags": ("tags", _TEXTS),
    "note": ("note", _TEXT),
}
"""Name in the file (vf-eval's, where it has one): name in EvalRequest, and what it must be."""

_DEADLINES = {
    "call_timeout": "call",
    "score_timeout": "scoring",
    "rollout_timeout": "rollout",
    "timeout": "rollout",
}
"""Deadlines: `90s`, `30m`, or plain seconds, as vf-eval's `timeout`."""

_ALREADY_SO = frozenset("num_workers disable_env_server verbose disable_tui save_results".split())
"""vf-eval's; what they ask for is so already."""

_ELSEWHERE = {
    "resume": "resume the suite as a whole: `prime eval run SUITE.toml --resume`",
    "resume_path": "resume the suite as a whole: `prime eval run SUITE.toml --resume`",
    "output_dir": "runs are saved below ./outputs/evals; `cd` to where you want that",
    "env_dir_path": 'name the folder itself, as in `id = "./environments/my_env"`',
    "save_to_hf_hub": "share a run afterwards with `prime eval export`",
    "hf_hub_dataset_name": "share a run afterwards with `prime eval export`",
    "header_from_state": "`header` sends one that stays the same",
    "headers_from_state": "`header` sends one that stays the same",
    "api_client_type": "models are reached by chat completions: leave it out",
}


def request_of(cell: Mapping[str, Any], folder: Path) -> EvalRequest:
    """The EvalRequest of one evaluation; relative paths count from `folder`, the suite's.

    Raises UsageError for a field that is unknown, or holds what it cannot.
    """
    if "model" in cell and "endpoint_id" in cell:
        raise UsageError("`model` and `endpoint_id` exclude each other")
    found: dict[str, Any] = {}
    for name, value in cell.items():
        if name in _ALREADY_SO or name in _DEADLINES or (name == "args" and not value):
            continue
        target, (fits, words) = _field(name)
        if not fits(value):
            raise UsageError(f"`{name}` must be {words}, and is {value!r}")
        found[target] = _converted(target, value, found, folder)
    return EvalRequest(**found, deadlines=_deadlines(cell))


def _deadlines(cell: Mapping[str, Any]) -> Deadlines:
    told = {_DEADLINES[name]: str(value) for name, value in cell.items() if name in _DEADLINES}
    return parse_deadlines(told.get("call"), told.get("scoring"), told.get("rollout"))


def _field(name: str) -> tuple[str, tuple[Check, str]]:
    if name in _FIELDS:
        return _FIELDS[name]
    if name in _ELSEWHERE:
        raise UsageError(f"`{name}` is not a field of a suite", hint=_ELSEWHERE[name])
    close = difflib.get_close_matches(name, _FIELDS, n=1)
    hint = f"did you mean `{close[0]}`?" if close else f"known are {', '.join(sorted(_FIELDS))}"
    raise UsageError(f"`{name}` is not a field of an evaluation", hint=hint)


def _converted(target: str, value: Any, found: Mapping[str, Any], folder: Path) -> Any:
    if target == "headers":
        if isinstance(value, dict):
            value = [f"{name}: {text}" for name, text in value.items()]
        return (*found.get("headers", ()), *value)
    if target == "endpoints_path":
        return folder / value
    if target == "environment" and value.startswith("."):
        # As in the file, whatever folder the command is typed in.
        return str(folder / value)
    return tuple(value) if isinstance(value, list) else value
