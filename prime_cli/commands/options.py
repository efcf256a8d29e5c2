"""Options that several commands share, and Typer parameters made of records of options."""

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from enum import StrEnum
from inspect import Parameter
from math import isfinite
from pathlib import Path
from types import NoneType
from typing import Annotated, Any, TypeVar, get_args, get_origin

import typer

from prime_cli.commands.contract import SideEffect, contract
from prime_cli.core.errors import UsageError
from prime_cli.core.options import Option, OptionField, is_record, option_fields, record_class
from prime_cli.core.refs import EnvRef
from prime_cli.session import Session

Function = TypeVar("Function", bound=Callable[..., None])


class OutputMode(StrEnum):
    """How data is written to stdout."""

    TABLE = "table"
    PLAIN = "plain"
    JSON = "json"
    JSONL = "jsonl"


_COMMON = "Common options"
"""The heading of common options, in the help of commands that have many."""
_FORMATS = "Output format: table, plain (tab-separated, no header), json or jsonl."
_NO_PROMPTS = "Skip confirmation prompts."


def _common(name: str, kind: Any, default: Any, text: str, *names: str, **more: Any) -> OptionField:
    return OptionField(name, kind, default, Option(text, names, panel=_COMMON, **more))


OUTPUT = _common(
    "output", OutputMode | None, None, _FORMATS, "--output", "-o", show_default="table"
)

LONG_OUTPUT = _common("output", OutputMode | None, None, _FORMATS, "--output", show_default="table")
"""For commands whose `-o` is something else in the official client or vf-eval."""

QUIET = _common("quiet", bool, False, "Print data, warnings and errors only.", "--quiet", "-q")

CONTEXT = _common(
    "context",
    str | None,
    None,
    "The hub to use instead of the current one.",
    "--context",
    metavar="CONTEXT",
)

OFFLINE = _common("offline", bool | None, None, "Work offline, with local data only.", "--offline")

YES = _common("yes", bool, False, _NO_PROMPTS, "--yes", "-y")

YES_OR_FORCE = _common("yes", bool, False, _NO_PROMPTS, "--yes", "-y", "--force", "-f")
"""`--yes` where the official client says `--force`."""


def common_options(*options: OptionField | str, **promised: Any) -> Callable[[Function], Function]:
    """Give a command these options, last in its help; `open_session` reads what was given.

    A string is the name of an own parameter of the command that comes among them. `promised` are
    arguments of `contract`.
    """
    made = contract(**promised) if promised else None
    if made and CONTEXT in options:
        made = replace(made, effects=made.effects | {SideEffect.ASKS_HUB})

    def mark(function: Function) -> Function:
        function.common_options = options  # type: ignore[attr-defined]
        function.contract = made  # type: ignore[attr-defined]
        return function

    return mark


def local_options(*others: OptionField | str, **promised: Any) -> Callable[[Function], Function]:
    """The common options of a command that asks no hub, after `others`."""
    return common_options(*others, OUTPUT, QUIET, **promised)


def hub_options(*others: OptionField | str, **promised: Any) -> Callable[[Function], Function]:
    """The common options of a command that asks a hub, after `others`."""
    return common_options(*others, OUTPUT, QUIET, CONTEXT, OFFLINE, **promised)


def panel_order(*titles: str) -> Callable[[Function], Function]:
    """List the options of a command below these headings first, in this order."""

    def mark(function: Function) -> Function:
        function.panel_order = titles  # type: ignore[attr-defined]
        return function

    return mark


def rewrite_args(change: Callable[[list[str]], list[str]]) -> Callable[[Function], Function]:
    """Have `change` look at the words of a command before its options are read."""

    def mark(function: Function) -> Function:
        function.rewrite_args = change  # type: ignore[attr-defined]
        return function

    return mark


HelpSection = tuple[str, list[tuple[str, str]]]
"""A heading and the rows below it; without rows a sentence."""


def add_help(
    find: Callable[[Mapping[str, Any]], HelpSection | None],
) -> Callable[[Function], Function]:
    """End the help of a command with what `find` has for the words that were given."""

    def mark(function: Function) -> Function:
        function.add_help = find  # type: ignore[attr-defined]
        return function

    return mark


def open_session(ctx: typer.Context) -> Session:
    """The session of this invocation, set to what its common options say."""
    session: Session = ctx.find_root().obj
    given = ctx.params
    session.configure(
        mode=given.get("output"),
        quiet=given.get("quiet", False),
        context=given.get("context"),
        offline=given.get("offline"),
        yes=given.get("yes", False),
    )
    return session


ForceOpt = Annotated[bool, typer.Option("--force", help="Overwrite existing files.")]

DryRunOpt = Annotated[
    bool, typer.Option("--dry-run", help="Show what would be done without doing it.")
]

PythonOpt = Annotated[
    str | None,
    typer.Option(
        "--python",
        metavar="PYTHON",
        help="A Python version or interpreter to use.",
        rich_help_panel="Environment",
    ),
]

VersionOpt = Annotated[
    str | None, typer.Option("--version", "-v", help="The version, if not after @.")
]

PathOpt = Annotated[
    Path,
    typer.Option(
        "--path", "-p", metavar="FOLDER", help="The environment's folder.", show_default="."
    ),
]


def at_version(ref: EnvRef, version: str | None) -> EnvRef:
    """`ref` at what `--version` says, unless the version is in the ref already."""
    return ref if ref.version or version in (None, "latest") else ref.at(version)


EnvironmentArg = Annotated[str, typer.Argument(metavar="OWNER/NAME", help="The environment.")]

PodArg = Annotated[
    str, typer.Argument(metavar="POD", help="Its name, or its id or the start of it.")
]


def expand_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function` as Typer shall see it: with an option for each field of its records.

    The options come in the order of the fields, at the place of the record; those of its
    attribute `common_options` come last. When called, the records are built, and the common
    options left to `open_session`. Raises TypeError where two options have one name.
    """
    given = inspect.signature(function, eval_str=True).parameters
    records = {name: each.annotation for name, each in given.items() if is_record(each.annotation)}
    last: tuple[OptionField | str, ...] = getattr(function, "common_options", ())
    if not records and not last:
        return function
    parameters = [new for each in _ordered(given, last) for new in _expanded(each)]
    common = [each for each in last if not isinstance(each, str)]

    def call(**values: Any) -> Any:
        for field in common:
            del values[field.name]
        built = {name: _build(record, values) for name, record in records.items()}
        return function(**values, **built)

    call.__name__, call.__doc__ = function.__name__, function.__doc__
    call.__dict__.update(function.__dict__)
    call.__signature__ = _signature(function, parameters)  # type: ignore[attr-defined]
    call.__annotations__ = {each.name: each.annotation for each in parameters}
    return call


def _build(record: Any, values: dict[str, Any]) -> Any:
    """The record of the values of its options, which are taken out of `values`."""
    built = {each.name: _field_value(each, values.pop(each.name)) for each in option_fields(record)}
    return record_class(record)(**built)


def _signature(function: Callable[..., Any], parameters: list[Parameter]) -> inspect.Signature:
    names = [each.name for each in parameters]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise TypeError(f"`{function.__name__}` has two options named {', '.join(twice)}")
    return inspect.Signature(parameters)


def _ordered(
    given: Mapping[str, Parameter], last: tuple[OptionField | str, ...]
) -> Iterator[Parameter | OptionField]:
    """What a function takes: its own parameters, then `last`, which may name some of its own."""
    yield from (each for name, each in given.items() if name not in last)
    yield from (given[each] if isinstance(each, str) else each for each in last)


def _expanded(parameter: Parameter | OptionField) -> Iterator[Parameter]:
    """What Typer gets: keyword-only, so that options with and without defaults may be mixed."""
    if isinstance(parameter, OptionField):
        yield _parameter(parameter)
    elif is_record(parameter.annotation):
        yield from map(_parameter, option_fields(parameter.annotation))
    else:
        yield parameter.replace(kind=Parameter.KEYWORD_ONLY)


def _parameter(field: OptionField) -> Parameter:
    kind, default = _typer_kind(field)
    annotation = Annotated[kind, _typer_option(field)]  # type: ignore[valid-type]
    return Parameter(field.name, Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _typer_option(field: OptionField) -> Any:
    option = field.option
    return typer.Option(
        *field.names,
        help=option.help,
        metavar=option.metavar,
        rich_help_panel=option.panel,
        min=option.least,
        max=option.most,
        hidden=option.hidden,
        show_default=option.show_default,
        case_sensitive=option.case_sensitive,
        envvar=option.variable,
    )


def _typer_kind(field: OptionField) -> tuple[Any, Any]:
    """The type and default for Typer, which reads an option that may be repeated as a list."""
    default = Parameter.empty if field.required else field.default
    if field.option.parse is not None:
        return (list[str] if _item_of_tuple(field) else str) | None, None
    item = _item_of_tuple(field)
    if item is None:
        return field.kind, default
    if field.required:
        return list[item], default  # type: ignore[valid-type]
    return list[item] | None, [*field.default] if field.default else None  # type: ignore[valid-type]


def _item_of_tuple(field: OptionField) -> Any | None:
    """`str` of `tuple[str, ...]`, also of an optional one; Typer reads a `list` by itself."""
    kinds = get_args(field.kind) if NoneType in get_args(field.kind) else (field.kind,)
    for kind in kinds:
        if get_origin(kind) is tuple and get_args(kind)[1:] == (...,):
            return get_args(kind)[0]
    return None


def _field_value(field: OptionField, value: Any) -> Any:
    """What the field holds for what Typer read."""
    if field.option.parse is not None:
        return field.option.parse(value) if value or value == "" else field.default
    if isinstance(value, float) and not isfinite(value):  # which no bound of Typer's refuses
        raise UsageError(f"`{field.names[0]}`: {value} is not a number")
    if _item_of_tuple(field) is None:
        return value
    return tuple(value) if value else field.default
