"""JSON Schemas (draft 2020-12) of answers and files, made by msgspec from the types themselves."""

from collections.abc import Iterable, Iterator
from importlib import import_module
from inspect import isfunction
from pathlib import PurePath
from typing import Any, NamedTuple, get_args

import msgspec

from prime_cli.commands.contract import Answer, Contract


class FileType(NamedTuple):
    """What a file is, and `module:Type` of its content or, in JSON Lines, of one line.

    A function makes the schema of what has no type.
    """

    about: str
    kind: str


FILES = {
    "run.json": FileType(
        "what a run did, with what, and how it ended", "prime_cli.runs.manifest:RunManifest"
    ),
    "receipt.json": FileType(
        "the digests of a run and of its files", "prime_cli.runs.receipt:Receipt"
    ),
    "journal.jsonl": FileType("one finished rollout of a run", "prime_cli.runs.rows:Row"),
    "summary.json": FileType("the scores of a run", "prime_cli.runs.summary:Summary"),
    "results.jsonl": FileType(
        "one finished rollout as verifiers writes it", "prime_cli.runs.vf_eval_writer:ResultRow"
    ),
    "suite.toml": FileType(
        "evaluations that run together", "prime_cli.evals.suites.definition:suite_schema"
    ),
    "endpoints.toml": FileType(
        "models by alias, with their addresses", "prime_cli.models.registry:EndpointsFile"
    ),
    "check.json": FileType("the report of `env check`", "prime_cli.wire.check_reports:CheckReport"),
    "prime.lock": FileType(
        "the locked environments of a workspace, in TOML",
        "prime_cli.envs.lockfile.file:EnvironmentLock",
    ),
}


def answer_schema(answers: Iterable[Answer]) -> dict[str, Any] | None:
    """The schema of a document of one of these types; None where there is none.

    What is written of a number that is not finite is null (`terminal.text`), so each may be null.
    """
    made = _type_schema(answers)
    return None if made is None else _with_null(made)


def _with_null(schema: Any, *, may_be_null: bool = False) -> Any:
    """The same, in which each number may be null; where it may be already, it is left so."""
    if isinstance(schema, list):
        return [_with_null(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    choices = schema.get("anyOf", ())
    has_null = {"type": "null"} in choices
    found = {name: _with_null(each) for name, each in schema.items() if name != "anyOf"}
    if choices:
        found["anyOf"] = [_with_null(each, may_be_null=has_null) for each in choices]
    if schema.get("type") == "number" and not may_be_null:
        found["type"] = ["number", "null"]
    return found


def _type_schema(answers: Iterable[Answer]) -> dict[str, Any] | None:
    types = list(dict.fromkeys(map(_loaded, answers)))
    if not types:
        return None
    schemas, definitions = msgspec.json.schema_components(types, schema_hook=_schema_of_path)
    one = schemas[0] if len(schemas) == 1 else {"anyOf": list(schemas)}
    return {**one, **({"$defs": definitions} if definitions else {})}


def line_schema(contract: Contract) -> dict[str, Any] | None:
    """The same for a line of `--output jsonl`: an item, where the document is a list."""
    items = (
        get_args(each)[0] if _is_list(each) else each for each in map(_loaded, contract.records)
    )
    return answer_schema(items)


def field_names(contract: Contract) -> Iterator[str]:
    """The fields of the answer, those of listed items in brackets: `keys[id, name]`."""
    schema = answer_schema(contract.answers) or {}
    definitions = schema.get("$defs", {})
    for each in schema.get("anyOf", [schema]):
        rows = each.get("items") or each.get("additionalProperties") or {}
        if names := ", ".join(_properties(rows, definitions)):
            yield f"[{names}]"
        for name, value in _properties(each, definitions).items():
            listed = _resolved(value, definitions).get("items") or {}
            names = ", ".join(_properties(listed, definitions))
            yield f"{name}[{names}]" if names else name


def file_schema(name: str) -> dict[str, Any]:
    """The schema of a file of FILES."""
    kind = _loaded(FILES[name].kind)
    made: dict[str, Any] | None = kind() if isfunction(kind) else _type_schema([kind])
    return made or {}


def _properties(schema: dict[str, Any], definitions: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = _resolved(schema, definitions).get("properties", {})
    return found


def _resolved(schema: dict[str, Any], definitions: dict[str, Any]) -> dict[str, Any]:
    name = schema.get("$ref", "").rpartition("/")[2]
    return definitions[name] if name else schema


def _loaded(answer: Answer) -> Any:
    if not isinstance(answer, str):
        return answer
    module, _, name = answer.partition(":")
    return getattr(import_module(module), name)


def _is_list(kind: Any) -> bool:
    return getattr(kind, "__origin__", None) in (list, tuple)


def _schema_of_path(kind: type) -> dict[str, Any]:
    if issubclass(kind, PurePath):
        return {"type": "string"}
    raise NotImplementedError(f"no JSON form for {kind.__name__}")
