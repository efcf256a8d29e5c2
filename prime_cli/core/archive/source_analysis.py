"""The modules of a package as syntax trees, whether it exposes an environment and of what kind;
none is run.

A v0 environment binds `load_environment`; a v1 environment exports a Taskset in `__all__`
(verifiers 0.1 to 0.3.1, and verifiers 0.3 on).
"""

import ast
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal

from msgspec import Struct

ReadModule = Callable[[str], str | None]
"""Source text of a path such as `pkg/__init__.py`, or None if there is no such file."""


class Module(Struct, frozen=True):
    """A module: its text, and the package that its relative imports start from.

    `tree` is None if the text cannot be parsed, perhaps because of syntax newer than this Python.
    """

    text: str
    package: str
    tree: ast.Module | None

    def statements(self) -> Iterator[ast.stmt]:
        """What runs on import: top-level statements, and those under `if`, `try`, `with`."""
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
    """The modules of a package by import name, each parsed once."""

    def __init__(self, read: ReadModule) -> None:
        self._read = read
        self._known: dict[str, Module | None] = {}

    def find(self, name: str) -> Module | None:
        """The module called `name`; None if the package has no file for it."""
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
        ):  # the last: nested too deeply to parse
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


Generation = Literal["v0", "v1"]

LOADER = "load_environment"
_TASKSET = "Taskset"
_LOADER_IN_TEXT = re.compile(
    rf"^(?:(?:async )?def {LOADER}\b|{LOADER}\s*[:=]|(?:from|import) .*\b{LOADER}\b)", re.MULTILINE
)


def find_generation(module: str, read: ReadModule) -> Generation | None:
    """What `module` exposes; `v0` if it exposes both, None if it is not an environment."""
    package = _Package(read)
    if package.binds(module, LOADER):
        return "v0"
    exported = package.namespace(module).exported
    return "v1" if any(package.is_taskset(module, name) for name in exported) else None


@dataclass
class _Namespace:
    """The names that a module binds at its top level."""

    names: set[str] = field(default_factory=set)
    classes: dict[str, ast.ClassDef] = field(default_factory=dict)
    imports: dict[str, tuple[str, str]] = field(default_factory=dict)
    stars: list[str] = field(default_factory=list)
    exported: list[str] = field(default_factory=list)


class _Package:
    """The modules of one package as namespaces, each read once."""

    def __init__(self, read: ReadModule) -> None:
        self._modules = Modules(read)
        self._known: dict[str, _Namespace] = {}

    def namespace(self, module: str) -> _Namespace:
        if module not in self._known:
            found = self._modules.find(module)
            self._known[module] = _Namespace() if found is None else _namespace_of(found)
        return self._known[module]

    def binds(self, module: str, name: str, seen: frozenset[str] = frozenset()) -> bool:
        namespace = self.namespace(module)
        if name in namespace.names:
            return True
        seen |= {module}
        return any(self.binds(star, name, seen) for star in namespace.stars if star not in seen)

    def is_taskset(
        self, module: str, name: str, seen: frozenset[tuple[str, str]] = frozenset()
    ) -> bool:
        if (module, name) in seen:
            return False
        seen |= {(module, name)}
        namespace = self.namespace(module)
        if name in namespace.classes:
            bases = [last_part(base) for base in namespace.classes[name].bases]
            return any(base == _TASKSET or self.is_taskset(module, base, seen) for base in bases)
        if name in namespace.imports:
            origin, original = namespace.imports[name]
            own = self._modules.find(origin) is not None
            return self.is_taskset(origin, original, seen) if own else original.endswith(_TASKSET)
        return any(self.is_taskset(star, name, seen) for star in namespace.stars)


def _namespace_of(module: Module) -> _Namespace:
    if module.tree is None:
        # Fall back to searching the words of what cannot be parsed.
        return _Namespace(names={LOADER} if _LOADER_IN_TEXT.search(module.text) else set())
    namespace = _Namespace(exported=module.exported())
    for statement in module.statements():
        _bind(statement, namespace, module)
    if "__getattr__" in namespace.names and LOADER in module.text:
        namespace.names.add(LOADER)
    return namespace


def _bind(statement: ast.stmt, namespace: _Namespace, module: Module) -> None:
    match statement:
        case ast.ClassDef(name=name):
            namespace.names.add(name)
            namespace.classes[name] = statement
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
            namespace.names.add(name)
        case ast.ImportFrom():
            _bind_import(statement, namespace, module)
        case ast.Import(names=names):
            namespace.names |= {alias.asname or alias.name.split(".")[0] for alias in names}
        case ast.Assign(targets=targets):
            namespace.names |= {target.id for target in targets if isinstance(target, ast.Name)}
        case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr()):
            namespace.names.add(name)


def _bind_import(statement: ast.ImportFrom, namespace: _Namespace, module: Module) -> None:
    origin = module.origin(statement)
    for alias in statement.names:
        if alias.name == "*":
            namespace.stars.append(origin)
        else:
            name = alias.asname or alias.name
            namespace.names.add(name)
            namespace.imports[name] = (origin, alias.name)


def last_part(base: ast.expr) -> str:
    """`Taskset` of `vf.Taskset[Data]`."""
    if isinstance(base, ast.Subscript):
        base = base.value
    if isinstance(base, ast.Attribute):
        return base.attr
    return base.id if isinstance(base, ast.Name) else ""


class EnvironmentKind(StrEnum):
    """What an environment asks of a model, and the generation of verifiers that it is written for.

    A hub reads it from the code of the newest version; tags with these names count too.
    """

    SINGLE_TURN = "single-turn"
    MULTI_TURN = "multi-turn"
    TOOL_USE = "tool-use"
    SANDBOX = "sandbox"
    V0 = "v0"
    V1 = "v1"


_MULTI_TURN = frozenset({EnvironmentKind.MULTI_TURN})
_TOOL_USE = _MULTI_TURN | {EnvironmentKind.TOOL_USE}
_SANDBOX = _TOOL_USE | {EnvironmentKind.SANDBOX}

# As the classes of verifiers derive from each other.
_USED: Mapping[Generation, Mapping[str, frozenset[EnvironmentKind]]] = {
    "v0": {
        "SingleTurnEnv": frozenset({EnvironmentKind.SINGLE_TURN}),
        "MultiTurnEnv": _MULTI_TURN,
        "TextArenaEnv": _MULTI_TURN,
        "ReasoningGymEnv": frozenset({EnvironmentKind.SINGLE_TURN}),
        "ToolEnv": _TOOL_USE,
        "StatefulToolEnv": _TOOL_USE,
        "MCPEnv": _TOOL_USE,
        "BrowserEnv": _TOOL_USE,
        "SandboxEnv": _SANDBOX,
        "PythonEnv": _SANDBOX,
        "CliAgentEnv": _SANDBOX,
        "HarborEnv": _SANDBOX,
    },
    "v1": {
        "Toolset": _TOOL_USE,
        "tool": _TOOL_USE,
        "NEEDS_CONTAINER": frozenset({EnvironmentKind.SANDBOX}),
    },
}


def find_kinds(
    generation: Generation | None, sources: Iterable[tuple[str, str]]
) -> tuple[EnvironmentKind, ...]:
    """The kinds of an environment whose files are `sources`, as (path, text); none is run.

    An environment may be of several, and a class of its own that derives from none of verifiers'
    says nothing. Empty for a package that is no environment.
    """
    if generation is None:
        return ()
    used = _USED[generation]
    found = {EnvironmentKind(generation)}
    for _, text in sources:
        for name in _names(text):
            found |= used.get(name, frozenset())
    if EnvironmentKind.MULTI_TURN in found:
        found.discard(EnvironmentKind.SINGLE_TURN)
    return tuple(kind for kind in EnvironmentKind if kind in found)


def _names(text: str) -> Iterator[str]:
    """Every name and attribute in a file; none in one that cannot be parsed."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.alias(name=name):
                yield name
