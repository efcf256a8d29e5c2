"""A suite as its file defines it: evaluations and the flags that they set, a shared budget."""

import difflib
import tomllib
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from types import NoneType
from typing import Any, get_args, get_origin

import msgspec

from prime_cli.core.digests import digest_bytes
from prime_cli.core.errors import UsageError
from prime_cli.core.options import Option, OptionField, option_fields
from prime_cli.core.paths import storage_errors
from prime_cli.evals.planning.request import EvalRequest, Flag
from prime_cli.evals.suites.expansion import expand

LARGEST = 1024 * 1024
"""The largest file of a suite, in bytes."""
MOST_CELLS = 10_000


class SuiteLimits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The table `[suite]`: limits for all evaluations together.

    `max_cost` is in US dollars, `token_budget` counts input and output; `at_once` evaluations run
    side by side.
    """

    name: str | None = None
    max_cost: float | None = None
    token_budget: int | None = None
    at_once: int = 4


@dataclass(frozen=True)
class SuiteCell:
    """One evaluation of a suite; `key` names it by its differences from the others."""

    key: str
    request: EvalRequest


@dataclass(frozen=True)
class Suite:
    """A suite of at least one evaluation, each with a unique key."""

    name: str
    path: Path
    limits: SuiteLimits
    cells: tuple[SuiteCell, ...]

    @property
    def digest(self) -> str:
        """The digest of its evaluations' keys; resumed runs check everything else."""
        return digest_bytes(msgspec.json.encode(sorted(cell.key for cell in self.cells)))

    def overridden(self, given: EvalRequest) -> "Suite":
        """The same suite with the flags in `given` overriding the file in each evaluation."""
        blank = EvalRequest(environment="")
        told = {
            field.name: getattr(given, field.name)
            for field in fields(EvalRequest)
            if field.name != "environment"
            and getattr(given, field.name) != getattr(blank, field.name)
        }
        limits = msgspec.structs.replace(
            self.limits,
            max_cost=given.max_cost or self.limits.max_cost,
            token_budget=given.token_budget or self.limits.token_budget,
        )
        # Each evaluation looks at the caps before it starts, though one budget counts for all.
        told |= {"max_cost": limits.max_cost, "token_budget": limits.token_budget}
        cells = (replace(cell, request=replace(cell.request, **told)) for cell in self.cells)
        return replace(self, limits=limits, cells=tuple(cells))


def load_suite(path: Path) -> Suite:
    """Read a suite's file; raises UsageError that names the error, StorageFailed."""
    with storage_errors(path), path.open("rb") as file:
        content = file.read(LARGEST + 1)
    if len(content) > LARGEST:
        raise UsageError(f"{path} is larger than {LARGEST >> 20} MiB, too large for a suite")
    try:
        document = tomllib.loads(content.decode("utf-8"))
        limits = msgspec.convert(document.get("suite", {}), SuiteLimits)
        tables = expand(document)
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        raise UsageError(f"{path} is not TOML: {error}") from error
    except msgspec.ValidationError as error:
        raise UsageError(f"[suite] in {path}: {error}") from error
    except UsageError as error:
        raise UsageError(f"{path}: {error.message}", hint=error.hint) from error
    _check_limits(path, limits, tables)
    return Suite(
        name=limits.name or path.stem,
        path=path,
        limits=limits,
        cells=_cells(path, tables),
    )


def _check_limits(path: Path, limits: SuiteLimits, tables: list[dict[str, Any]]) -> None:
    if len(tables) > MOST_CELLS:
        raise UsageError(f"{path} has {len(tables)} evaluations; the limit is {MOST_CELLS}")
    if limits.at_once < 1:
        raise UsageError(f"`at_once = {limits.at_once}` in {path} is not a number of evaluations")
    for name in ("max_cost", "token_budget"):
        value = getattr(limits, name)
        if value is not None and value <= 0:
            raise UsageError(f"`{name} = {value}` in {path} must be positive")


def _cells(path: Path, tables: list[dict[str, Any]]) -> tuple[SuiteCell, ...]:
    varying = _varying(tables)
    cells = []
    for number, table in enumerate(tables, 1):
        if "env_id" not in table:
            raise UsageError(f"Evaluation {number} in {path} has no environment")
        try:
            request = request_of(table, path.parent.absolute())
        except UsageError as error:
            where = f"{path}, evaluation {number} ({table['env_id']})"
            raise UsageError(f"{where}: {error.message}", hint=error.hint) from error
        cells.append(SuiteCell(_key(table, varying), request))
    twice = [key for key, count in Counter(cell.key for cell in cells).items() if count > 1]
    if twice:
        raise UsageError(f"{path} contains the same evaluation twice: {twice[0]}")
    return tuple(cells)


def _flat(table: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of an evaluation, with a field for each argument."""
    fields = {key: value for key, value in table.items() if key != "args"}
    return fields | {f"args.{key}": value for key, value in table.get("args", {}).items()}


def _varying(tables: list[dict[str, Any]]) -> list[str]:
    """The names of fields that differ between evaluations, except environment and model."""
    seen: dict[str, set[str]] = {}
    flat = [_flat(table) for table in tables]
    for name in {key for table in flat for key in table}:
        seen[name] = {msgspec.json.encode(table.get(name)).decode() for table in flat}
    # Tags and notes do not make an evaluation another one: a resume may change them.
    named = ("env_id", "model", "endpoint_id", "tags", "note")
    return sorted(name for name, values in seen.items() if len(values) > 1 and name not in named)


def _key(table: Mapping[str, Any], varying: list[str]) -> str:
    """`environment model name=value …`."""
    flat = _flat(table)
    model = flat.get("model") or flat.get("endpoint_id") or "the default model"
    parts = [
        f"{name.removeprefix('args.')}={_text(flat[name])}" for name in varying if name in flat
    ]
    return " ".join((str(flat["env_id"]), str(model), *parts))


def _text(value: object) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


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


def suite_schema() -> dict[str, Any]:
    """The JSON Schema of a suite's file."""
    of_fields = {name: _SCHEMAS[_plain_kind(field)] for name, field in suite_fields().items()}
    fields = {**of_fields, "id": _SCHEMAS[str], "args": _SCHEMAS[dict]}
    evaluation = {"type": "object", "properties": fields}
    tables_of_fields = {"type": "array", "items": {"type": "object"}}
    swept = {**fields, "sweep": _SCHEMAS[dict], "exclude": tables_of_fields}
    crossed = {**swept, "models": _SCHEMAS[tuple], "environments": _SCHEMAS[tuple]}
    tables = {
        "eval": evaluation,
        "ablation": {"type": "object", "properties": swept},
        "matrix": {"type": "object", "properties": crossed},
    }
    lists = {name: {"type": "array", "items": table} for name, table in tables.items()}
    limits = msgspec.json.schema(SuiteLimits)["$defs"]["SuiteLimits"]
    return {"type": "object", "properties": {"suite": limits, **lists, **fields}}


_SCHEMAS: dict[Any, dict[str, Any]] = {
    str: {"type": "string"},
    Path: {"type": "string"},
    int: {"type": ["integer", "string"]},  # a span of time is a text: `10m`
    float: {"type": "number"},
    bool: {"type": "boolean"},
    dict: {"type": "object"},
    tuple: {"type": "array", "items": {"type": "string"}},
}


def _plain_kind(field: OptionField) -> Any:
    """The type without `None` and arguments: `dict` of `dict[str, Any] | None`."""
    kinds = get_args(field.kind) if NoneType in get_args(field.kind) else (field.kind,)
    return get_origin(kinds[0]) or kinds[0]
