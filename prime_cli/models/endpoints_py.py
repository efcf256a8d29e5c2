"""Reading an `endpoints.py` of verifiers 0.1.0 to 0.1.9 without running it.

Such a file assigns a dict to ENDPOINTS. It is parsed, never executed: constants, names assigned
above, string concatenation, f-strings, `os.getenv` and `os.environ` are understood; anything
else is refused with its line.
"""

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from prime_cli.core.errors import UsageError


@dataclass(frozen=True)
class EnvironReference:
    """A value that the file takes from the environment."""

    name: str
    default: str | None = None

    def find(self, environ: Mapping[str, str]) -> str | None:
        """The variable's value, else its default."""
        return environ.get(self.name) or self.default


_DEEPEST = 20
_VARIABLE_CALLS = ("os.getenv", "getenv", "os.environ.get", "environ.get")


def read_endpoints_dict(
    source: str, *, path: str, environ: Mapping[str, str]
) -> dict[str, dict[str, Any]]:
    """`{alias: {"model", "url", "key", …}}`; values are JSON-like, or a Variable.

    Raises UsageError naming the file and the line.
    """
    try:
        tree = ast.parse(source, filename=path)
    except (SyntaxError, ValueError, RecursionError) as error:
        raise UsageError(f"{path} is not Python: {error}") from error
    reader = _Reader(path, environ)
    for statement in tree.body:
        reader.read_statement(statement)
    return reader.endpoints()


class _Reader:
    def __init__(self, path: str, environ: Mapping[str, str]) -> None:
        self._path = path
        self._environ = environ
        self._names: dict[str, ast.expr] = {}
        self._parts: list[ast.expr] = []
        self._depth = 0

    def read_statement(self, statement: ast.stmt) -> None:
        """Record an assignment; values are read only when ENDPOINTS needs them."""
        match statement:
            case ast.Assign(targets=[ast.Name(id="ENDPOINTS")], value=value):
                self._parts = [value]
            case ast.AnnAssign(target=ast.Name(id="ENDPOINTS"), value=ast.expr() as value):
                self._parts = [value]
            case ast.Assign(
                targets=[ast.Subscript(value=ast.Name(id="ENDPOINTS"), slice=alias)], value=value
            ):
                self._parts.append(ast.copy_location(ast.Dict([alias], [value]), statement))
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                self._names[name] = value
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                self._names[name] = value
            case _:
                self._refuse_hidden_entries(statement)

    def endpoints(self) -> dict[str, dict[str, Any]]:
        """ENDPOINTS after the statements read so far."""
        if not self._parts:
            raise UsageError(
                f"{self._path} does not assign ENDPOINTS",
                hint="write `ENDPOINTS = {...}`, or better an endpoints.toml",
            )
        found: dict[str, dict[str, Any]] = {}
        for part in self._parts:
            value = self._read(part)
            if not isinstance(value, dict) or not _all_dicts(value):
                raise self._refusal(part, "ENDPOINTS is not a dict of dicts by name")
            found.update(value)
        return found

    def _refuse_hidden_entries(self, statement: ast.stmt) -> None:
        if any(_changes_endpoints(node) for node in ast.walk(statement)):
            raise self._refusal(statement, "ENDPOINTS is modified by code")

    def _read(self, node: ast.expr) -> Any:
        value: Any
        self._depth += 1
        if self._depth > _DEEPEST:
            raise self._refusal(node, "the value is nested too deeply, or recursive")
        match node:
            case ast.Dict():
                value = self._dict(node)
            case ast.List(elts=items) | ast.Tuple(elts=items):
                value = [self._read(item) for item in items]
            case ast.Name(id=name) if name in self._names:
                value = self._read(self._names[name])
            case ast.Subscript() | ast.Call():
                value = self._variable(node)
            case _:
                value = self._scalar(node)
        self._depth -= 1
        return value

    def _scalar(self, node: ast.expr) -> str | int | float | bool | None:
        match node:
            case ast.Constant(value=str() | int() | float() | None as value):
                return value
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
                return -value
            case ast.BinOp(op=ast.Add(), left=left, right=right):
                return self._text(left) + self._text(right)
            case ast.JoinedStr(values=parts):
                return "".join(self._text(part) for part in parts)
            case ast.FormattedValue(value=inner, conversion=-1, format_spec=None):
                return self._text(inner)
        raise self._refusal(node, f"`{ast.unparse(node)[:60]}` is not a plain value")

    def _dict(self, node: ast.Dict) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key, value in zip(node.keys, node.values, strict=True):
            if key is not None:
                found[self._text(key)] = self._read(value)
                continue
            merged = self._read(value)
            if not isinstance(merged, dict):
                raise self._refusal(value, "`**` needs a dict")
            found.update(merged)
        return found

    def _variable(self, node: ast.Subscript | ast.Call) -> EnvironReference:
        match node:
            case ast.Subscript(value=owner, slice=index) if _dotted(owner).endswith("environ"):
                arguments = [index]
            case ast.Call(func=function, args=[_, *_] as arguments, keywords=[]) if (
                _dotted(function) in _VARIABLE_CALLS
            ):
                pass
            case _:
                raise self._refusal(node, f"`{ast.unparse(node)[:60]}` is not a plain value")
        name, default, *_ = [*(self._read(argument) for argument in arguments), None]
        if not isinstance(name, str) or not isinstance(default, str | None):
            raise self._refusal(node, "a variable's name and default must be strings")
        return EnvironReference(name, default)

    def _text(self, node: ast.expr) -> str:
        value = self._read(node)
        if isinstance(value, EnvironReference):
            value = value.find(self._environ) or ""
        if not isinstance(value, str):
            raise self._refusal(node, "a string is required here")
        return value

    def _refusal(self, node: ast.expr | ast.stmt, reason: str) -> UsageError:
        return UsageError(
            f"{self._path} line {node.lineno} cannot be read: {reason}",
            hint="the file is parsed, not executed; write a literal, or use endpoints.toml",
        )


def _all_dicts(value: dict[str, Any]) -> bool:
    return all(isinstance(entry, dict) for entry in value.values())


def _changes_endpoints(node: ast.AST) -> bool:
    match node:
        case ast.Name(id="ENDPOINTS", ctx=ast.Store()):
            return True
        case ast.Subscript(value=ast.Name(id="ENDPOINTS"), ctx=ast.Store() | ast.Del()):
            return True
        case ast.Attribute(value=ast.Name(id="ENDPOINTS"), attr=method):
            return method not in ("get", "items", "keys", "values")
    return False


def _dotted(node: ast.expr) -> str:
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=owner, attr=name):
            return f"{_dotted(owner)}.{name}"
    return ""
