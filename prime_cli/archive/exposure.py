"""Does a module expose an environment? Read from its source; none of it is run.

A v0 environment binds `load_environment`; a v1 environment exports a Taskset in `__all__`
(verifiers 0.1 to 0.3.1, and verifiers 0.3 on).
"""

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Literal

Generation = Literal["v0", "v1"]
ReadModule = Callable[[str], str | None]
"""Source text of a path such as `pkg/__init__.py`, or None when there is no such file."""

LOADER = "load_environment"
_TASKSET = "Taskset"
_LOADER_IN_TEXT = re.compile(
    rf"^(?:(?:async )?def {LOADER}\b|{LOADER}\s*[:=]|(?:from|import) .*\b{LOADER}\b)", re.MULTILINE
)


def find_generation(module: str, read: ReadModule) -> Generation | None:
    """What `module` exposes; `v0` where it exposes both, None where it is no environment."""
    modules = _Modules(read)
    if modules.binds(module, LOADER):
        return "v0"
    exported = modules.namespace(module).exported
    return "v1" if any(modules.is_taskset(module, name) for name in exported) else None


@dataclass
class _Namespace:
    """The names that a module binds at its top level."""

    names: set[str] = field(default_factory=set)
    classes: dict[str, ast.ClassDef] = field(default_factory=dict)
    imports: dict[str, tuple[str, str]] = field(default_factory=dict)
    stars: list[str] = field(default_factory=list)
    exported: list[str] = field(default_factory=list)


class _Modules:
    """The modules of one package as namespaces; each is parsed once."""

    def __init__(self, read: ReadModule) -> None:
        self._read = read
        self._known: dict[str, _Namespace] = {}

    def namespace(self, module: str) -> _Namespace:
        if module not in self._known:
            self._known[module] = _Namespace()  # an import cycle finds this one
            self._known[module] = self._parse(module)
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
            bases = [_last_name(base) for base in namespace.classes[name].bases]
            return any(base == _TASKSET or self.is_taskset(module, base, seen) for base in bases)
        if name in namespace.imports:
            origin, original = namespace.imports[name]
            own = self._find(origin) is not None
            return self.is_taskset(origin, original, seen) if own else original.endswith(_TASKSET)
        return any(self.is_taskset(star, name, seen) for star in namespace.stars)

    def _parse(self, module: str) -> _Namespace:
        found = self._find(module)
        if found is None:
            return _Namespace()
        text, package = found
        namespace = _Namespace()
        try:
            tree = ast.parse(text)
        except (SyntaxError, ValueError, RecursionError):
            # Perhaps syntax newer than this Python: the words must do.
            namespace.names |= {LOADER} if _LOADER_IN_TEXT.search(text) else set()
            return namespace
        for statement in _top_level(tree.body):
            _bind(statement, namespace, package)
        if "__getattr__" in namespace.names and LOADER in text:
            namespace.names.add(LOADER)
        return namespace

    def _find(self, module: str) -> tuple[str, str] | None:
        """The source of a module, and the package that its relative imports start from."""
        path = module.replace(".", "/")
        text = self._read(f"{path}/__init__.py")
        if text is not None:
            return text, module
        text = self._read(f"{path}.py")
        return None if text is None else (text, module.rpartition(".")[0])


def _top_level(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a module, and those under its `if`, `try` and `with`."""
    for statement in body:
        yield statement
        if isinstance(statement, ast.If | ast.Try | ast.TryStar | ast.With):
            for part in ("body", "orelse", "finalbody"):
                yield from _top_level(getattr(statement, part, []))
            for handler in getattr(statement, "handlers", []):
                yield from _top_level(handler.body)


def _bind(statement: ast.stmt, namespace: _Namespace, package: str) -> None:
    match statement:
        case ast.ClassDef(name=name):
            namespace.names.add(name)
            namespace.classes[name] = statement
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
            namespace.names.add(name)
        case ast.ImportFrom():
            _bind_import(statement, namespace, package)
        case ast.Import(names=names):
            namespace.names |= {alias.asname or alias.name.split(".")[0] for alias in names}
        case ast.Assign(targets=targets, value=value):
            for target in targets:
                _bind_value(target, value, namespace)
        case ast.AnnAssign(target=target, value=value) | ast.AugAssign(target=target, value=value):
            _bind_value(target, value, namespace)


def _bind_import(statement: ast.ImportFrom, namespace: _Namespace, package: str) -> None:
    origin = statement.module or ""
    if statement.level:
        parts = package.split(".")[: len(package.split(".")) - statement.level + 1]
        origin = ".".join([*parts, origin] if origin else parts)
    for alias in statement.names:
        if alias.name == "*":
            namespace.stars.append(origin)
        else:
            name = alias.asname or alias.name
            namespace.names.add(name)
            namespace.imports[name] = (origin, alias.name)


def _bind_value(target: ast.expr, value: ast.expr | None, namespace: _Namespace) -> None:
    if not isinstance(target, ast.Name) or value is None:
        return
    namespace.names.add(target.id)
    if target.id == "__all__" and isinstance(value, ast.List | ast.Tuple):
        namespace.exported += [
            item.value
            for item in value.elts
            if isinstance(item, ast.Constant) and isinstance(item.value, str)
        ]


def _last_name(base: ast.expr) -> str:
    """`Taskset` of `vf.Taskset[Data]`."""
    if isinstance(base, ast.Subscript):
        base = base.value
    if isinstance(base, ast.Attribute):
        return base.attr
    return base.id if isinstance(base, ast.Name) else ""
