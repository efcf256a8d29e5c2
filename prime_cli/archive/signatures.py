"""The arguments that an environment takes, read from its source; none of it is run.

A v0 environment takes those of `load_environment`, a v1 environment the fields of its Taskset's
config (verifiers 0.1 to 0.3.1, and verifiers 0.3 on).
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from prime_cli.archive.exposure import LOADER, Generation, ReadModule

_FARTHEST = 8
"""How many imports are followed from one module to the next."""

_LONGEST_DEFAULT = 120
_ENDS_OF_CONFIGS = ("Config", "BaseModel")


@dataclass(frozen=True)
class Argument:
    """One argument as its source spells it; `default` None means that it must be given."""

    name: str
    annotation: str | None = None
    default: str | None = None

    @property
    def required(self) -> bool:
        """Whether the environment cannot be loaded without it."""
        return self.default is None


def read_arguments(
    module: str, generation: Generation, read: ReadModule
) -> tuple[Argument, ...] | None:
    """What `module` takes, in the order of its source; None where that cannot be read."""
    sources = _Sources(read)
    if generation == "v1":
        return _read_config(sources, module)
    found = sources.find(module, LOADER)
    if found is None or not isinstance(found[1], ast.FunctionDef | ast.AsyncFunctionDef):
        return None
    return tuple(_parameters(found[1].args))


def _parameters(arguments: ast.arguments) -> Iterator[Argument]:
    """Named parameters; `**kwargs` and positional-only ones cannot be set by name."""
    required = len(arguments.posonlyargs) + len(arguments.args) - len(arguments.defaults)
    defaults = [None] * required + list(arguments.defaults)
    skipped = len(arguments.posonlyargs)
    for parameter, default in zip(arguments.args, defaults[skipped:], strict=True):
        yield _argument(parameter.arg, parameter.annotation, default)
    for parameter, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        yield _argument(parameter.arg, parameter.annotation, default)


def _argument(name: str, annotation: ast.expr | None, default: ast.expr | None) -> Argument:
    return Argument(name, _text(annotation), _text(default))


def _text(node: ast.expr | None) -> str | None:
    if node is None:
        return None
    text = ast.unparse(node)
    return text if len(text) <= _LONGEST_DEFAULT else f"{text[: _LONGEST_DEFAULT - 1]}…"


def _read_config(sources: "_Sources", module: str) -> tuple[Argument, ...] | None:
    """The fields of the config class that the exported Taskset names as a type argument."""
    for exported in sources.exported(module):
        taskset = sources.find(module, exported)
        if taskset is None or not isinstance(taskset[1], ast.ClassDef):
            continue
        for name in _type_arguments(taskset[1]):
            config = sources.find(taskset[0], name)
            if config and isinstance(config[1], ast.ClassDef) and _is_config(name, config[1]):
                return tuple(_fields(sources, config[0], config[1]).values())
    return None


def _type_arguments(definition: ast.ClassDef) -> list[str]:
    """The names in `Taskset[Task, Config]`."""
    found: list[str] = []
    for base in definition.bases:
        if isinstance(base, ast.Subscript):
            inner = base.slice
            parts = inner.elts if isinstance(inner, ast.Tuple) else [inner]
            found += [part.id for part in parts if isinstance(part, ast.Name)]
    return found


def _is_config(name: str, definition: ast.ClassDef) -> bool:
    bases = [ast.unparse(base).rpartition(".")[2] for base in definition.bases]
    return name.endswith("Config") or any(base.endswith(_ENDS_OF_CONFIGS) for base in bases)


def _fields(
    sources: "_Sources", module: str, definition: ast.ClassDef, seen: frozenset[str] = frozenset()
) -> dict[str, Argument]:
    """Annotated fields by name, those of base classes in the same package first."""
    found: dict[str, Argument] = {}
    seen |= {definition.name}
    for base in definition.bases:
        if isinstance(base, ast.Name) and base.id not in seen:
            inherited = sources.find(module, base.id)
            if inherited and isinstance(inherited[1], ast.ClassDef):
                found |= _fields(sources, inherited[0], inherited[1], seen)
    for statement in definition.body:
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            name = statement.target.id
            if not name.startswith("_") and "ClassVar" not in ast.unparse(statement.annotation):
                found[name] = _argument(name, statement.annotation, statement.value)
    return found


class _Sources:
    """The modules of one package, parsed when they are asked for."""

    def __init__(self, read: ReadModule) -> None:
        self._read = read
        self._parsed: dict[str, tuple[ast.Module, str] | None] = {}

    def find(self, module: str, name: str, depth: int = _FARTHEST) -> tuple[str, ast.AST] | None:
        """The module and node where `name`, as seen from `module`, is defined."""
        parsed = self._parse(module)
        if parsed is None or depth == 0:
            return None
        tree, package = parsed
        for statement in _statements(tree.body):
            if (
                isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
                and statement.name == name
            ):
                return module, statement
            if isinstance(statement, ast.ImportFrom):
                for alias in statement.names:
                    if alias.name == "*" or (alias.asname or alias.name) == name:
                        original = name if alias.name == "*" else alias.name
                        origin = _origin(statement, package)
                        if found := self.find(origin, original, depth - 1):
                            return found
        return None

    def exported(self, module: str) -> list[str]:
        """The names in the module's `__all__`."""
        parsed = self._parse(module)
        if parsed is None:
            return []
        for statement in parsed[0].body:
            if isinstance(statement, ast.Assign | ast.AnnAssign) and statement.value:
                targets = getattr(statement, "targets", [getattr(statement, "target", None)])
                if any(isinstance(each, ast.Name) and each.id == "__all__" for each in targets):
                    return _strings(statement.value)
        return []

    def _parse(self, module: str) -> tuple[ast.Module, str] | None:
        """A module's tree, and the package that its relative imports start from."""
        if module not in self._parsed:
            self._parsed[module] = self._load(module)
        return self._parsed[module]

    def _load(self, module: str) -> tuple[ast.Module, str] | None:
        path = module.replace(".", "/")
        text, package = self._read(f"{path}/__init__.py"), module
        if text is None:
            text, package = self._read(f"{path}.py"), module.rpartition(".")[0]
        try:
            return None if text is None else (ast.parse(text), package)
        except (SyntaxError, ValueError, RecursionError):  # perhaps newer than this Python
            return None


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a module, and those under its `if`, `try` and `with`."""
    for statement in body:
        yield statement
        if isinstance(statement, ast.If | ast.Try | ast.With):
            for part in ("body", "orelse", "finalbody"):
                yield from _statements(getattr(statement, part, []))


def _origin(statement: ast.ImportFrom, package: str) -> str:
    """The absolute name of the module that a `from … import` names."""
    if not statement.level:
        return statement.module or ""
    parts = package.split(".")
    kept = parts[: len(parts) - statement.level + 1]
    return ".".join([*kept, statement.module] if statement.module else kept)


def _strings(node: ast.expr) -> list[str]:
    items = node.elts if isinstance(node, ast.List | ast.Tuple) else []
    values = [item.value for item in items if isinstance(item, ast.Constant)]
    return [value for value in values if isinstance(value, str)]
