"""Any value of an environment as JSON types."""

import math
from collections.abc import Mapping
from typing import Any

DEEPEST = 60
SCALARS = (str, int, bool, type(None))


def plain(value: Any, depth: int = 0) -> Any:
    """Strings, numbers, lists and dicts; models as their fields; other values as their repr.

    NaN and infinities become None. Recursive lists are cut at `DEEPEST`.
    """
    kind = type(value)
    if kind in SCALARS:
        return value
    if kind is float:
        return value if math.isfinite(value) else None
    if depth > DEEPEST:
        return repr(value)[:500]
    if isinstance(value, Mapping):
        return {_key(key): plain(item, depth + 1) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(item, depth + 1) for item in value]
    return _object(value, depth)


def number(value: Any) -> float | None:
    """A finite float, also of tensors and numpy scalars; None for anything else."""
    if value is None or isinstance(value, str):
        return None
    try:
        found = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return found if math.isfinite(found) else None


def _key(key: Any) -> str:
    return key if isinstance(key, str) else str(key)


def _object(value: Any, depth: int) -> Any:
    if isinstance(value, str):  # string enums, whose own `str` would differ
        return str.__str__(value)
    for base in (int, float):  # enums again, numpy's float64
        if isinstance(value, base):
            return plain(base(value), depth)
    for method in ("model_dump", "tolist", "isoformat"):
        call = getattr(value, method, None)
        if callable(call):
            try:
                return plain(call(), depth + 1)
            except Exception:  # noqa: S112 - somebody else's code; repr always works
                continue
    return repr(value)[:2000]
