"""Wire structs to JSON bytes and back; missing and unknown fields are named."""

import json
import math
import re
from difflib import get_close_matches
from typing import Any, Generic, TypeVar

import msgspec
from msgspec import inspect

from prime_cli.core.errors import UsageError

# Unknown fields are ignored, as newer releases may send more; structs that grant or restrict
# something say `forbid_unknown_fields`, and then those are named too.

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


# --- JSON that Python's own encoder writes, and others refuse ---

_MOST_DIGITS = 308
"""Of a whole number; larger ones are no floating-point numbers."""


def _finite(text: str) -> float | None:
    number = float(text)
    return number if math.isfinite(number) else None


LENIENT = json.JSONDecoder(
    parse_constant=lambda _: None,
    parse_float=_finite,
    parse_int=lambda text: int(text) if len(text) <= _MOST_DIGITS else None,
    strict=False,
)
"""Reads NaN, infinities and numbers out of range as null, and control characters as they are."""


def encode_plainly(value: Any) -> bytes:
    """JSON bytes of what `LENIENT` has read; a lone surrogate becomes a question mark.

    Raises RecursionError.
    """
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def mend(content: bytes) -> bytes:
    """JSON that only Python's decoder reads, as JSON for everyone.

    Raises ValueError for what is no JSON either way, RecursionError.
    """
    return encode_plainly(LENIENT.decode(content.decode("utf-8-sig", "surrogateescape")))


def without_nulls(value: Any, levels: int = DEEPEST) -> Any:
    """Plain JSON where null means left out: no object in it has a null member.

    Raises UsageError for more than `levels` of nesting.
    """
    if not isinstance(value, (dict, list)):
        return value
    if levels == 0:
        raise UsageError(f"The JSON is nested deeper than {DEEPEST} levels")
    if isinstance(value, list):
        return [without_nulls(item, levels - 1) for item in value]
    return {key: without_nulls(item, levels - 1) for key, item in value.items() if item is not None}


def _not_a(kind: type[T], error: Exception) -> UsageError:
    unknown = explain_unknown_field(kind, error)
    if unknown is not None:
        return unknown
    name = getattr(kind, "__name__", "value")
    place = _PLACE.search(str(error))
    return UsageError(f"The JSON is not a {name}: {error}", param=place[1] if place else None)


# --- Envelope ---


class Envelope(msgspec.Struct, Generic[T]):
    """`{"data": …}`."""

    data: T


# --- Unknown fields ---
# Requests that grant or restrict something forbid them: `expires_in` for `expiresIn` would be
# dropped, and the key would never expire.

_UNKNOWN = re.compile(r"Object contains unknown field `(.*?)`(?: - at `\$(.*)`)?", re.DOTALL)
_PART = re.compile(r"[^.\[\]]+")
_SHOWN = 80


def explain_unknown_field(kind: Any, error: Exception) -> UsageError | None:
    """The sentence about an unknown field of a `kind`; None for another error."""
    found = _UNKNOWN.fullmatch(str(error)) if isinstance(error, msgspec.ValidationError) else None
    if found is None:
        return None
    field, place = found[1], found[2] or ""
    struct = _struct_at(inspect.type_info(kind), _PART.findall(place))
    names = [each.encode_name for each in struct.fields] if struct is not None else []
    inside = f" of `{place.lstrip('.')}`" if place else ""
    return UsageError(
        f"`{field[:_SHOWN]}` is not a known field{inside}",
        hint=_hint(field, names),
        param=".".join([*_PART.findall(place), field[:_SHOWN]]),
    )


def _hint(field: str, names: list[str]) -> str | None:
    """The field with the closest spelling, ignoring case and `_`; otherwise all of them."""
    plain = {_plain(name): name for name in names}
    near = get_close_matches(_plain(field), list(plain), n=1)
    if near:
        return f"did you mean `{plain[near[0]]}`?"
    return f"the fields are {', '.join(f'`{name}`' for name in names)}" if names else None


def _plain(name: str) -> str:
    return name.replace("_", "").replace("-", "").lower()


def _struct_at(kind: inspect.Type | None, parts: list[str]) -> inspect.StructType | None:
    """The struct at a place as msgspec names it: fields, and `[...]` or `[0]` for items."""
    struct = _struct_in(kind)
    for part in parts:
        if part == "..." or part.isdecimal():
            continue
        fields = struct.fields if struct is not None else ()
        struct = _struct_in(next((each.type for each in fields if each.encode_name == part), None))
    return struct


def _struct_in(kind: inspect.Type | None) -> inspect.StructType | None:
    """The struct that a type is, may be, or has as items."""
    if isinstance(kind, inspect.StructType):
        return kind
    if isinstance(kind, inspect.ListType):
        return _struct_in(kind.item_type)
    if isinstance(kind, inspect.UnionType):
        return next((found for each in kind.types if (found := _struct_in(each))), None)
    return None
