"""What a name means in the code of a package, across its modules; nothing is run."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from prime_cli.archive.modules import Modules, ReadModule
from prime_cli.envs.difference.scopes import Scope, last_name, scope_of

_FARTHEST = 8
"""How many imports are followed from one module to the next."""


@dataclass(frozen=True)
class Binding:
    """A name in the scope that binds it."""

    name: str
    scope: Scope

    @property
    def nodes(self) -> list[ast.AST]:
        """The code that gives it its value."""
        return [*self.scope.bound[self.name], *self.scope.touched.get(self.name, ())]

    @property
    def label(self) -> str:
        """`wordle.load_environment.right`."""
        return f"{self.scope.label}.{self.name}"


class Names:
    """Resolves names across the modules of one package; each is parsed once."""

    def __init__(self, read: ReadModule) -> None:
        self._modules = Modules(read)
        self._known: dict[str, Scope | None] = {}

    def module(self, name: str) -> Scope | None:
        """The scope of a module; None where the package has none of that name, or it is broken."""
        if name not in self._known:
            found = self._modules.find(name) if name else None
            is_read = found is not None and found.tree is not None
            self._known[name] = scope_of(name, found) if found is not None and is_read else None
        return self._known[name]

    def find(self, name: str, scope: Scope) -> Binding | None:
        """What `name` means in code of `scope`; None for a builtin or another package's."""
        for at in scope.outwards():
            if at.is_class and at is not scope:
                continue  # a method does not see the names of its class
            if name in at.bound:
                return Binding(name, at)
            if name in at.imports:
                return self._imported(*at.imports[name])
        return None

    def find_in_module(self, name: str, alias: str, scope: Scope) -> Binding | None:
        """What `alias.name` means where `alias` is a module of the package."""
        for at in scope.outwards():
            if alias in at.imports:
                module, original = at.imports[alias]
                return self._imported(module if original is None else f"{module}.{original}", name)
        return None

    def find_in_class(self, name: str, scope: Scope | None) -> Iterator[Binding]:
        """What `self.name` means in a class: its own, else that of the nearest base class."""
        seen: set[Scope] = set()
        waiting = [scope] if scope is not None else []
        while waiting:
            at = waiting.pop(0)
            if at in seen:
                continue
            seen.add(at)
            if name in at.bound:
                yield Binding(name, at)
                return
            if name in at.setters:
                yield from (Binding(method, at) for method in at.setters[name])
                return
            waiting += list(self._bases(at))

    def outside(self, name: str, scope: Scope) -> str | None:
        """The package that `name` was imported from, where it is another one."""
        for at in scope.outwards():
            if name in at.imports:
                module = at.imports[name][0]
                return None if self.module(module) else module.split(".")[0]
            if name in at.bound:
                return None
        return None

    def _bases(self, scope: Scope) -> Iterator[Scope]:
        if not isinstance(scope.node, ast.ClassDef) or scope.parent is None:
            return
        for base in scope.node.bases:
            found = self.find(last_name(base), scope.parent)
            for node in found.scope.bound[found.name] if found else ():
                if found is not None and isinstance(node, ast.ClassDef):
                    yield found.scope.inner[node]

    def _imported(self, module: str, name: str | None, depth: int = _FARTHEST) -> Binding | None:
        scope = self.module(module)
        if scope is None or name is None or depth == 0:
            return None
        if name in scope.bound:
            return Binding(name, scope)
        origin = scope.imports.get(name) or self._starred(scope)
        if origin is None:
            return None
        return self._imported(origin[0], origin[1] if origin[1] != "*" else name, depth - 1)

    def _starred(self, scope: Scope) -> tuple[str, str | None] | None:
        return scope.imports.get("*")
