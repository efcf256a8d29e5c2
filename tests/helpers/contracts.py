"""Holds what a command answered, and how it ended, against what `prime schema` says of it."""

import json
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

from jsonschema import Draft202012Validator

from prime_cli.commands import output_mode
from prime_cli.commands.base import load
from prime_cli.commands.contract import Contract, SideEffect
from prime_cli.commands.json_schema import answer_schema, line_schema
from prime_cli.core.errors import ExitCode

_APP = "prime_cli.commands:app"
_JSON = ("json", "jsonl")
_ANSWERED = (ExitCode.OK, ExitCode.GATE, ExitCode.PARTIAL, ExitCode.INTEGRITY)
"""How commands end that may have answered before."""


def check_contract(argv: Sequence[str], code: int, out: str) -> None:
    """Raise AssertionError for an exit code, a document or a field that is not declared."""
    target, path = find_leaf(argv)
    if target is None:
        return
    promised = _contract(target)
    name = " ".join(path)
    codes = promised.exit_codes
    if SideEffect.RUNS_PROGRAM not in promised.effects:
        assert code in codes, f"`{name}` ended with {code}, declared are {[int(c) for c in codes]}"
    mode = output_mode([*argv])
    if mode not in _JSON or not out.strip() or code not in _ANSWERED:
        return
    if not any("--output" in each.opts for each in load(target).params):
        return
    validator = _validator(target, mode)
    assert validator is not None, f"`{name}` declares no answer, and gave {out[:200]}"
    for document in [out] if mode == "json" else out.splitlines():
        faults = sorted(validator.iter_errors(json.loads(document)), key=lambda e: len(e.path))
        assert not faults, f"`{name}`: {_sentence(faults[0])}"


def _sentence(fault: Any) -> str:
    while fault.context:
        fault = min(fault.context, key=lambda each: len(each.context or ()))
    return f"{fault.json_path}: {fault.message[:400]}"


def find_leaf(argv: Sequence[str]) -> tuple[str | None, list[str]]:
    """The target of the command that these words name, and its path."""
    target, path = _APP, ["prime"]
    words = iter(argv)
    for word in words:
        if word == "--context":
            next(words, None)
        if word.startswith("-"):
            continue
        members, default = _members(target)
        if word not in members and default is None:
            return None, path
        name = word if word in members else str(default)
        target, path = members[name], [*path, name]
        if not _members(target)[0]:
            return target, path
    return None, path


@cache
def _members(target: str) -> tuple[dict[str, str], str | None]:
    command = load(target)
    members = {name: each.target for name, each in getattr(command, "commands", {}).items()}
    return members, getattr(command, "default", None)


@cache
def _contract(target: str) -> Contract:
    contract: Contract = load(target).callback.contract
    return contract


@cache
def _validator(target: str, mode: str) -> Draft202012Validator | None:
    promised = _contract(target)
    schema = answer_schema(promised.answers) if mode == "json" else line_schema(promised)
    return Draft202012Validator(refuse_more(schema)) if schema else None


def refuse_more(schema: Any) -> Any:
    """The same schema, of which an object has no other fields than the declared ones."""
    if isinstance(schema, list):
        return [refuse_more(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {name: refuse_more(value) for name, value in schema.items()}
    if schema.get("type") == "object" and "properties" in schema:
        closed.setdefault("additionalProperties", False)
    return closed


def leaves() -> Iterator[tuple[str, str]]:
    """Every command that help lists: what is typed after `prime`, and its target."""
    yield from _leaves(_APP, ())


def _leaves(target: str, path: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    members = getattr(load(target), "commands", {})
    if not members:
        yield " ".join(path), target
    for name, member in members.items():
        if not member.hidden:
            yield from _leaves(member.target, (*path, name))
