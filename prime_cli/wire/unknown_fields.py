"""Fields that a request must not have, and which were meant.

What grants or restricts something forbids them: `expires_in` for `expiresIn` would be dropped, and
the key be good for ever.
"""

import re
from difflib import get_close_matches
from typing import Any

import msgspec
from msgspec import inspect

from prime_cli.core.errors import UsageError

_UNKNOWN = re.compile(r"Object contains unknown field `(.*?)`(?: - at `\$(.*)`)?", re.DOTALL)
_PART = re.compile(r"[^.\[\]]+")
_SHOWN = 80


def explain_unknown_field(kind: Any, error: Exception) -> UsageError | None:
    """What to say of an unknown field of a `kind`; None where that is not the error."""
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
    """The field that is spelled most alike, whatever the case and the `_`; else all there are."""
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
