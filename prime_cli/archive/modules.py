"""The modules of one package as syntax trees; none of them is run."""

import ast
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

ReadModule = Callable[[str], str | None]
"""Source text of a path such as `pkg/__init__.py`, or None when there is no such file."""


@dataclass(frozen=True)
class Module:
    """One module: its text, and the package that its relative imports start from.

    `tree` is None where the text cannot be parsed; it may be syntax newer than this Python.
    """

    text: str
    package: str
    tree: ast.Module | None

    def statements(self) -> Iterator[ast.stmt]:
        """What is done at import: top-level statements, and those under `if`, `try`, `with`."""
        return _with_inner(self.tree.body if self.tree else ())

    def exported(self) -> list[str]:
        """The names in `__all__`."""
        return [name for statement in self.statements() for name in _names_in_all(statement)]

    def origin(self, statement: ast.ImportFrom) -> str:
        """The absolute name of the module that a `from … import` of this module names."""
        if not statement.level:
            return statement.module or ""
        parts = self.package.split(".")
        kept = parts[: len(parts) - statement.level + 1]
        return ".".join([*kept, statement.module] if statement.module else kept)


class Modules:
    """The modules of a package by import name; each is parsed once."""

    def __init__(self, read: ReadModule) -> None:
        self._read = read
        self._known: dict[str, Module | None] = {}

    def find(self, name: str) -> Module | None:
        """The module called `name`; None when the package has no file for it."""
        if name not in self._known:
            self._known[name] = self._load(name)
        return self._known[name]

    def _load(self, name: str) -> Module | None:
        path = name.replace(".", "/")
        text, package = self._read(f"{path}/__init__.py"), name
        if text is None:
            text, package = self._read(f"{path}.py"), name.rpartition(".")[0]
        if text is None:
            return None
        try:
            return Module(text, package, ast.parse(text))
        except (
            SyntaxError,
            ValueError,
            RecursionError,
            MemoryError,
        ):  # the last: too deep to parse
            return Module(text, package, None)


def _with_inner(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    for statement in body:
        yield statement
        if isinstance(statement, ast.If | ast.Try | ast.TryStar | ast.With):
            for part in ("body", "orelse", "finalbody"):
                yield from _with_inner(getattr(statement, part, ()))
            for handler in getattr(statement, "handlers", ()):
                yield from _with_inner(handler.body)


def _names_in_all(statement: ast.stmt) -> Iterator[str]:
    match statement:
        case (
            ast.Assign(targets=[ast.Name(id="__all__")], value=value)
            | ast.AnnAssign(target=ast.Name(id="__all__"), value=value)
            | ast.AugAssign(target=ast.Name(id="__all__"), value=value)
        ):
            items = value.elts if isinstance(value, ast.List | ast.Tuple) else []
            for item in items:
                if isinstance(item, ast.Constant) and isinstance(item.value, str):
                    yield item.value
