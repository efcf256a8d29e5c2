"""Does a module expose an environment? Read from its source; none of it is run.

A v0 environment binds `load_environment`; a v1 environment exports a Taskset in `__all__`
(verifiers 0.1 to 0.3.1, and verifiers 0.3 on).
"""

import ast
import re
from dataclasses import dataclass, field
from typing import Literal

from prime_cli.archive.modules import Module, Modules, ReadModule

Generation = Literal["v0", "v1"]

LOADER = "load_environment"
_TASKSET = "Taskset"
_LOADER_IN_TEXT = re.compile(
    rf"^(?:(?:async )?def {LOADER}\b|{LOADER}\s*[:=]|(?:from|import) .*\b{LOADER}\b)", re.MULTILINE
)


def find_generation(module: str, read: ReadModule) -> Generation | None:
    """What `module` exposes; `v0` where it exposes both, None where it is no environment."""
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
    """The modules of one package as namespaces; each is read once."""

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
            bases = [_last_name(base) for base in namespace.classes[name].bases]
            return any(base == _TASKSET or self.is_taskset(module, base, seen) for base in bases)
        if name in namespace.imports:
            origin, original = namespace.imports[name]
            own = self._modules.find(origin) is not None
            return self.is_taskset(origin, original, seen) if own else original.endswith(_TASKSET)
        return any(self.is_taskset(star, name, seen) for star in namespace.stars)


def _namespace_of(module: Module) -> _Namespace:
    if module.tree is None:
        # What cannot be parsed is told by its words.
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


def _last_name(base: ast.expr) -> str:
    """`Taskset` of `vf.Taskset[Data]`."""
    if isinstance(base, ast.Subscript):
        base = base.value
    if isinstance(base, ast.Attribute):
        return base.attr
    return base.id if isinstance(base, ast.Name) else ""
