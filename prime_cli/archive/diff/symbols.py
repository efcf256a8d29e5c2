"""Symbol tables of a package's modules, and what a name means across them; nothing is run."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

from prime_cli.archive.source_analysis import Module, Modules, ReadModule, last_part

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
_INNER = ("body", "orelse", "finalbody", "handlers", "cases")


@dataclass(eq=False)
class CodeScope:
    """The names that a module, a class or a function binds, each with the code that does so.

    `path` is `load_environment.right`, empty for a module; `body` are its own statements. `touched`
    are calls of methods of a name, which may change what it holds. `imports` are what names take
    from modules, as (module, name there), None for a module itself. `setters` of a class are its
    methods that give `self.NAME` a value.
    """

    module: str
    body: list[ast.stmt]
    path: str = ""
    parent: "CodeScope | None" = None
    node: Definition | None = None
    bound: dict[str, list[ast.AST]] = field(default_factory=dict)
    touched: dict[str, list[ast.AST]] = field(default_factory=dict)
    imports: dict[str, tuple[str, str | None]] = field(default_factory=dict)
    setters: dict[str, list[str]] = field(default_factory=dict)
    inner: dict[ast.AST, "CodeScope"] = field(default_factory=dict)

    @property
    def is_class(self) -> bool:
        return isinstance(self.node, ast.ClassDef)

    @property
    def label(self) -> str:
        """`wordle.load_environment`."""
        return f"{self.module}.{self.path}" if self.path else self.module

    @property
    def enclosing_class(self) -> "CodeScope | None":
        """The class whose instance `self` is in this code."""
        return next((scope for scope in self.outwards() if scope.is_class), None)

    def outwards(self) -> Iterator["CodeScope"]:
        """Itself and those around it."""
        scope: CodeScope | None = self
        while scope is not None:
            yield scope
            scope = scope.parent

    def inwards(self) -> Iterator["CodeScope"]:
        """Itself and those of the classes and functions in it."""
        yield self
        for scope in self.inner.values():
            yield from scope.inwards()


def scope_of(name: str, module: Module) -> CodeScope:
    """The scope of a parsed module, with all that are in it; its docstrings are dropped."""
    scope = CodeScope(name, module.tree.body if module.tree else [])
    _drop_docstrings(scope.body)
    _bind_all(scope.body, scope, module)
    return scope


def scoped_nodes(node: ast.AST, scope: CodeScope) -> Iterator[tuple[ast.AST, CodeScope]]:
    """Every node in `node`, code of `scope`, each with the scope that its names are looked up in.

    Functions and classes in it have scopes of their own, but for decorators, bases and defaults.
    """
    waiting = [(node, scope)]
    while waiting:
        each, where = waiting.pop()
        yield each, where
        inside = where.inner.get(each)
        outer = ("decorator_list", "args", "bases", "keywords", "returns")
        for part, value in ast.iter_fields(each):
            at = where if inside is None or part in outer else inside
            children = value if isinstance(value, list) else [value]
            waiting += [(child, at) for child in children if isinstance(child, ast.AST)]


def scoped_calls(scope: CodeScope) -> Iterator[ast.Call]:
    """The calls that a scope's own statements make; those of functions in it are theirs."""
    for statement in scope.body:
        for node, where in scoped_nodes(statement, scope):
            if where is scope and isinstance(node, ast.Call):
                yield node


def last_name(node: ast.expr) -> str:
    """`Rubric` of `vf.Rubric`, of `vf.Rubric[Data]` and of `vf.Rubric(…)`."""
    return last_part(node.func if isinstance(node, ast.Call) else node)


def _drop_docstrings(body: list[ast.stmt]) -> None:
    for node in (node for statement in body for node in ast.walk(statement)):
        match node:
            case (
                ast.FunctionDef(body=[ast.Expr(value=ast.Constant()), *_])
                | ast.AsyncFunctionDef(body=[ast.Expr(value=ast.Constant()), *_])
                | ast.ClassDef(body=[ast.Expr(value=ast.Constant()), *_])
            ):
                del node.body[0]


def _bind_all(body: list[ast.stmt], scope: CodeScope, module: Module) -> None:
    for statement in body:
        match statement:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                _bind_definition(statement, scope, module)
            case ast.Import() | ast.ImportFrom():
                _bind_import(statement, scope, module)
            case _:
                _bind_assigned(statement, scope)
                for inner in _bodies(statement):
                    _bind_all(inner, scope, module)


def _bind_definition(definition: Definition, scope: CodeScope, module: Module) -> None:
    scope.bound.setdefault(definition.name, []).append(definition)
    path = f"{scope.path}.{definition.name}" if scope.path else definition.name
    inner = CodeScope(scope.module, definition.body, path, scope, definition)
    scope.inner[definition] = inner
    if not isinstance(definition, ast.ClassDef):
        _bind_parameters(definition.args, inner)
    _bind_all(definition.body, inner, module)


def _bind_parameters(arguments: ast.arguments, scope: CodeScope) -> None:
    """Each with its default value, which a function inside may rely on."""
    plain = [*arguments.posonlyargs, *arguments.args]
    missing = [None] * (len(plain) - len(arguments.defaults))
    pairs = [
        *zip(plain, [*missing, *arguments.defaults], strict=True),
        *zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True),
        *((each, None) for each in (arguments.vararg, arguments.kwarg) if each is not None),
    ]
    for parameter, default in pairs:
        scope.bound[parameter.arg] = [] if default is None else [default]


def _bind_import(statement: ast.Import | ast.ImportFrom, scope: CodeScope, module: Module) -> None:
    for alias in statement.names:
        if isinstance(statement, ast.Import):
            top = alias.name if alias.asname else alias.name.split(".")[0]
            scope.imports[alias.asname or top] = (top, None)
        else:
            scope.imports[alias.asname or alias.name] = (module.origin(statement), alias.name)


def _bind_assigned(statement: ast.stmt, scope: CodeScope) -> None:
    match statement:
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name)))):
            scope.touched.setdefault(name, []).append(statement)
    for target in _targets(statement):
        for node in ast.walk(target):
            match node:
                case ast.Name(id=name, ctx=ast.Store()):
                    scope.bound.setdefault(name, []).append(statement)
                case ast.Name(id=name):  # `x` of `x.a = 1` and `x[0] = 1`
                    scope.touched.setdefault(name, []).append(statement)
                case ast.Attribute(value=ast.Name(id="self"), attr=name):
                    _note_setter(name, scope)


def _note_setter(name: str, scope: CodeScope) -> None:
    around = scope.parent
    if around is not None and around.is_class and scope.node is not None:
        around.setters.setdefault(name, []).append(scope.node.name)


def _targets(statement: ast.stmt) -> list[ast.expr]:
    match statement:
        case ast.Assign(targets=targets):
            return targets
        case ast.AnnAssign(target=target) | ast.AugAssign(target=target):
            return [target]
        case ast.For(target=target) | ast.AsyncFor(target=target):
            return [target]
        case ast.With(items=items) | ast.AsyncWith(items=items):
            return [item.optional_vars for item in items if item.optional_vars is not None]
    return []


def _bodies(statement: ast.AST) -> Iterator[list[ast.stmt]]:
    """The blocks of `if`, `for`, `try`, `with`, `while` and `match`."""
    for part in _INNER:
        inner = getattr(statement, part, [])
        if inner and isinstance(inner[0], ast.stmt):
            yield inner
        else:
            for each in inner:
                yield from _bodies(each)


_FARTHEST = 8
"""How many imports are followed from one module to the next."""


@dataclass(frozen=True)
class Binding:
    """A name in the scope that binds it."""

    name: str
    scope: CodeScope

    @property
    def nodes(self) -> list[ast.AST]:
        """The code that gives it its value."""
        return [*self.scope.bound[self.name], *self.scope.touched.get(self.name, ())]

    @property
    def label(self) -> str:
        """`wordle.load_environment.right`."""
        return f"{self.scope.label}.{self.name}"


class NameResolver:
    """Resolves names across the modules of one package; each is parsed once."""

    def __init__(self, read: ReadModule) -> None:
        self._modules = Modules(read)
        self._known: dict[str, CodeScope | None] = {}

    def module(self, name: str) -> CodeScope | None:
        """The scope of a module; None where the package has none of that name, or it is broken."""
        if name not in self._known:
            found = self._modules.find(name) if name else None
            self._known[name] = scope_of(name, found) if found and found.tree else None
        return self._known[name]

    def find(self, name: str, scope: CodeScope) -> Binding | None:
        """What `name` means in code of `scope`; None for a builtin or another package's."""
        for at in scope.outwards():
            if at.is_class and at is not scope:
                continue  # a method does not see the names of its class
            if name in at.bound:
                return Binding(name, at)
            if name in at.imports:
                return self._imported(*at.imports[name])
        return None

    def find_in_module(self, name: str, alias: str, scope: CodeScope) -> Binding | None:
        """What `alias.name` means where `alias` is a module of the package."""
        for at in scope.outwards():
            if alias in at.imports:
                module, original = at.imports[alias]
                return self._imported(module if original is None else f"{module}.{original}", name)
        return None

    def find_in_class(self, name: str, scope: CodeScope | None) -> Iterator[Binding]:
        """What `self.name` means in a class: its own, else that of the nearest base class."""
        seen: set[CodeScope] = set()
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

    def _bases(self, scope: CodeScope) -> Iterator[CodeScope]:
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

    def _starred(self, scope: CodeScope) -> tuple[str, str | None] | None:
        return scope.imports.get("*")
