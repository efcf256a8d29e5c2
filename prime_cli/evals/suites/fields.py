"""The fields of a suite's evaluations, which set flags of `prime eval run`."""

import difflib
from collections.abc import Callable, Mapping
from pathlib import Path
from types import NoneType
from typing import Any, get_args, get_origin

from prime_cli.core.errors import UsageError
from prime_cli.core.options import Option, OptionField, option_fields
from prime_cli.evals.planning.request import EvalRequest, Flag

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


_KINDS: dict[Any, tuple[Check, str]] = {
    str: (_is_text, "a text"),
    Path: (_is_text, "a text"),
    int: (_is_whole, "a whole number"),
    float: (_is_number, "a number"),
    dict: (_is_table, "a table"),
    bool: (_is_flag, "true or false"),
    tuple: (_is_texts, "a list of texts"),
}
"""The type of a field in the file, by that of the field of EvalRequest that it sets."""


def suite_fields() -> dict[str, OptionField]:
    """The field of EvalRequest for each field of the file: vf-eval's names, if it has one."""
    found = {"env_id": OptionField("environment", str, "", Option(""))}
    for field in option_fields(EvalRequest):
        if isinstance(field.option, Flag):
            found |= dict.fromkeys(_names(field, field.option), field)
    return found


def _names(field: OptionField, flag: Flag) -> tuple[str, ...]:
    if flag.suite is not None:
        return flag.suite
    long = field.names[0].partition("/")[0]
    return (long.removeprefix("--").replace("-", "_"),)


_ALREADY_SO = frozenset("num_workers disable_env_server verbose disable_tui save_results".split())
"""vf-eval's fields that ask for what is the default here."""

_ELSEWHERE = {
    "resume": "resume the suite as a whole: `prime eval run SUITE.toml --resume`",
    "resume_path": "resume the suite as a whole: `prime eval run SUITE.toml --resume`",
    "env_dir_path": 'use the folder itself, as in `id = "./environments/my_env"`',
    "save_to_hf_hub": "share a run afterwards with `prime eval export`",
    "hf_hub_dataset_name": "share a run afterwards with `prime eval export`",
    "header_from_state": "`header` sends a constant one",
    "headers_from_state": "`header` sends a constant one",
    "api_client_type": "models are called by chat completions: omit it",
}


def request_of(cell: Mapping[str, Any], folder: Path) -> EvalRequest:
    """The EvalRequest of one evaluation; relative paths count from `folder`, the suite's.

    Raises UsageError for an unknown field or an invalid value.
    """
    if "model" in cell and "endpoint_id" in cell:
        raise UsageError("`model` and `endpoint_id` are mutually exclusive")
    known, found = suite_fields(), dict[str, Any]()
    for name, value in cell.items():
        if name in _ALREADY_SO or (name == "args" and not value):
            continue
        if name not in known:
            raise _unknown(name, known)
        found[known[name].name] = _converted(name, known[name], value, found, folder)
    return EvalRequest(**found)


def _unknown(name: str, known: Mapping[str, OptionField]) -> UsageError:
    if name in _ELSEWHERE:
        return UsageError(f"`{name}` is not a field of a suite", hint=_ELSEWHERE[name])
    close = difflib.get_close_matches(name, known, n=1)
    hint = f"did you mean `{close[0]}`?" if close else f"known are {', '.join(sorted(known))}"
    return UsageError(f"`{name}` is not a field of an evaluation", hint=hint)


def _converted(
    name: str, field: OptionField, value: Any, found: Mapping[str, Any], folder: Path
) -> Any:
    """The value of `field` for the file's value of `name`."""
    kind = _plain_kind(field)
    if kind is int and field.option.parse is not None:
        return field.option.parse(str(value))  # a span of time, or seconds
    if kind is str and field.option.parse is not None and _is_text(value):
        return field.option.parse(value)
    if field.name == "headers":
        return (*found.get("headers", ()), *_headers(name, value))
    _check_kind(name, kind, value)
    if kind is Path:
        return folder / value
    if field.name == "environment" and value.startswith("."):
        # As in the file, whatever folder the command is typed in.
        return str(folder / value)
    return tuple(value) if isinstance(value, list) else value


def _headers(name: str, value: Any) -> list[str]:
    if name == "header":
        _check_kind(name, tuple, value)
        return list(value)
    _check_kind(name, dict, value)
    return [f"{header}: {text}" for header, text in value.items()]


def _check_kind(name: str, kind: Any, value: object) -> None:
    fits, words = _KINDS[kind]
    if not fits(value):
        raise UsageError(f"`{name}` must be {words}, and is {value!r}")


def _plain_kind(field: OptionField) -> Any:
    """The type without `None` and arguments: `dict` of `dict[str, Any] | None`."""
    kinds = get_args(field.kind) if NoneType in get_args(field.kind) else (field.kind,)
    return get_origin(kinds[0]) or kinds[0]
