"""Keys that an environment says it needs: `vf.ensure_keys([...])` in its source."""

import ast
from collections.abc import Iterator
from pathlib import Path

from prime_cli.archive.wheels import open_wheel

_CALL = "ensure_keys"
_LARGEST = 1024 * 1024


def declared_keys(wheel: Path) -> tuple[str, ...]:
    """The variables that the modules of `wheel` pass to `ensure_keys`; no code is run."""
    found: dict[str, None] = {}
    with open_wheel(wheel) as opened:
        for _, source in opened.modules(largest=_LARGEST):
            if _CALL in source:
                found.update(dict.fromkeys(_keys_in(source)))
    return tuple(found)


def _keys_in(source: str) -> Iterator[str]:
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _name_of(node.func) == _CALL:
            for constant in (each for given in node.args for each in ast.walk(given)):
                if isinstance(constant, ast.Constant) and isinstance(constant.value, str):
                    yield constant.value


def _name_of(function: ast.expr) -> str | None:
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else None
