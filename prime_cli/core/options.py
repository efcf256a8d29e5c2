"""Metadata of a record's fields for the options that set them.

A record of options is a frozen dataclass or a msgspec Struct. Its fields carry an `Option`:

    num: Annotated[int, Option("Maximum number of rows.", names=("--num", "-n"), least=1)] = 20

A command that offers a few of them takes `Annotated[Record, Only("num")]`; the other fields have
their defaults.

`commands.options` turns such a record into command-line options; routes, clients and settings files
read the same fields with `option_fields`.
"""

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from msgspec import NODEFAULT, Struct, structs

from prime_cli.core.errors import UsageError


class Option(Struct, frozen=True):
    """How the option of a field is spelled, limited and explained.

    `names` default to `--` and the field's name; `--x/--no-x` also offers the opposite. `least` and
    `most` are inclusive bounds of a number. `show_default` is False, or text to show as the default
    in the help. `variable` names an environment variable that sets it. `parse` turns the text on
    the command line (all texts if repeatable) into the field's value, or raises UsageError.
    """

    help: str
    names: tuple[str, ...] = ()
    metavar: str | None = None
    panel: str | None = None
    least: float | None = None
    most: float | None = None
    hidden: bool = False
    show_default: bool | str = True
    case_sensitive: bool = True
    variable: str | None = None
    parse: Callable[[Any], Any] | None = None


class Only:
    """The fields of a record that a command offers, in this order.

    `changes` are attributes of a field's `Option` that differ in this command.
    """

    def __init__(self, *fields: str, **changes: Mapping[str, Any]) -> None:
        self.fields = fields
        self.changes = changes

    def select(self, fields: "Iterable[OptionField]") -> "Iterator[OptionField]":
        """These of all fields of the record; raises KeyError for one that is not there."""
        by_name = {each.name: each for each in fields}
        for name in self.fields:
            field = by_name[name]
            option = structs.replace(field.option, **self.changes.get(name, {}))
            yield structs.replace(field, option=option)


REQUIRED: Any = dataclasses.MISSING
"""The default of a required field."""


class OptionField(Struct, frozen=True):
    """A field of a record that an option sets; `kind` is its type without metadata."""

    name: str
    kind: Any
    default: Any
    option: Option

    @property
    def names(self) -> tuple[str, ...]:
        """Every spelling of the option."""
        return self.option.names or ("--" + self.name.replace("_", "-"),)

    @property
    def required(self) -> bool:
        """Whether there is no default."""
        return self.default is REQUIRED


def is_record(kind: object) -> bool:
    """Whether `kind` is a class with at least one field that carries an `Option`, or part of it."""
    record = record_class(kind)
    return isinstance(record, type) and bool(option_fields(record))


def record_class(kind: Any) -> Any:
    """`kind` without an `Only`."""
    return get_args(kind)[0] if _only(kind) is not None else kind


def _only(kind: Any) -> Only | None:
    if get_origin(kind) is not Annotated:
        return None
    return next((each for each in get_args(kind)[1:] if isinstance(each, Only)), None)


@cache
def option_fields(record: Any) -> tuple[OptionField, ...]:
    """The fields that carry an `Option`, in order; none if it is not a record."""
    only = _only(record)
    if only is not None:
        return tuple(only.select(option_fields(record_class(record))))
    defaults = _defaults(record)
    if not defaults:
        return ()
    hints = get_type_hints(record, include_extras=True)
    found = ((name, *_metadata(hints[name]), default) for name, default in defaults.items())
    return tuple(
        OptionField(name, kind, default, option)
        for name, kind, option, default in found
        if option is not None
    )


def _metadata(hint: Any) -> tuple[Any, Option | None]:
    """A type without its metadata, and the `Option` among it."""
    if get_origin(hint) is not Annotated:
        return hint, None
    kind, *metadata = get_args(hint)
    return kind, next((each for each in metadata if isinstance(each, Option)), None)


def _defaults(record: type) -> dict[str, Any]:
    """The default of each constructor argument; factories are called."""
    if dataclasses.is_dataclass(record):
        fields: Any = [each for each in dataclasses.fields(record) if each.init]
        missing: Any = dataclasses.MISSING
    elif hasattr(record, "__struct_fields__"):
        fields, missing = structs.fields(record), NODEFAULT
    else:
        return {}
    return {each.name: _default(each, missing) for each in fields}


def _default(field: Any, missing: Any) -> Any:
    if field.default is not missing:
        return field.default
    return REQUIRED if field.default_factory is missing else field.default_factory()


def refuse_empty(names: Iterable[str], environ: Mapping[str, str]) -> None:
    """Raise UsageError if one of these variables is set to nothing.

    `KEY=$UNSET` in a script means a value that is not there; something else would be used instead.
    """
    for name in names:
        if name in environ and not environ[name].strip():
            raise UsageError(f"{name} is set but empty", hint=f"give it a value, or `unset {name}`")
