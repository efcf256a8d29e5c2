"""Wire structs to JSON bytes and back; missing fields are named.

Unknown fields are ignored, as newer releases may send more; structs that grant or restrict
something say `forbid_unknown_fields`, and then those are named too.
"""

import re
from typing import Any, TypeVar

import msgspec

from prime_cli.core.errors import UsageError
from prime_cli.wire.unknown_fields import explain_unknown_field

T = TypeVar("T")

DEEPEST = 100

_PLACE = re.compile(r" - at `\$\.(.+)`$")


def encode(value: Any) -> bytes:
    """JSON bytes of a wire struct or plain value."""
    return msgspec.json.encode(value)


def decode(content: bytes | bytearray, kind: type[T]) -> T:
    """A `kind` from JSON bytes; raises UsageError that names the field that is wrong."""
    try:
        return msgspec.json.decode(content, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise _not_a(kind, error) from error


def convert(value: Any, kind: type[T]) -> T:
    """A `kind` from dicts, lists and scalars; raises UsageError that names what is wrong."""
    try:
        return msgspec.convert(value, type=kind)
    except msgspec.MsgspecError as error:
        raise _not_a(kind, error) from error


def without_nulls(value: Any, levels: int = DEEPEST) -> Any:
    """Plain JSON where null means left out: no object in it has a null member.

    Raises UsageError for what is nested deeper than `levels`.
    """
    if not isinstance(value, (dict, list)):
        return value
    if levels == 0:
        raise UsageError(f"The JSON is nested deeper than {DEEPEST} levels")
    if isinstance(value, list):
        return [without_nulls(item, levels - 1) for item in value]
    return {key: without_nulls(item, levels - 1) for key, item in value.items() if item is not None}


def to_builtins(value: Any) -> Any:
    """Dicts, lists and scalars of a wire struct, as the standard json module takes them."""
    return msgspec.to_builtins(value)


def _not_a(kind: type[T], error: Exception) -> UsageError:
    unknown = explain_unknown_field(kind, error)
    if unknown is not None:
        return unknown
    name = getattr(kind, "__name__", "value")
    place = _PLACE.search(str(error))
    return UsageError(f"The JSON is not a {name}: {error}", param=place[1] if place else None)
