"""The code that decides about rewards, found in the source of an environment; none of it is run.

It begins with calls of classes that are named `…Rubric` and what is added to such objects, with
classes derived from one, with functions under `@reward`, `@group_reward` or `@metric`, and with
methods that score in place of a rubric. What these use in the same package belongs to it.
"""

import ast
import hashlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from prime_cli.archive.diff.symbols import (
    Binding,
    CodeScope,
    NameResolver,
    last_name,
    scoped_calls,
    scoped_nodes,
)
from prime_cli.archive.limits import MEBIBYTE
from prime_cli.archive.source_analysis import ReadModule

_RUBRIC = "Rubric"
_DECORATORS = frozenset({"reward", "group_reward", "metric", "group_metric"})
_ADDING = frozenset({"add_reward_func", "add_metric", "add_rubric"})
_KEYWORDS = frozenset({"funcs", "reward_funcs", "weights", "reward_weights"})
_MOST_BYTES = 8 * MEBIBYTE
"""Source that is read of one package; a syntax tree is a hundred times as large."""

_LARGEST_DIGESTED = MEBIBYTE // 4
_METHODS = frozenset({"score_rollout", "score_rollouts", "score_group", "score"})


@dataclass
class ScoringCode:
    """The parts of a package that decide about rewards, each with a digest of what it does.

    A part is named by where it is, as `wordle.load_environment.right`. Comments, docstrings and
    layout are not in the digest. `broken` are modules that cannot be parsed or are too much to be
    read.
    """

    parts: dict[str, str] = field(default_factory=dict)
    broken: list[str] = field(default_factory=list)


def read_scoring(modules: Iterable[str], read: ReadModule) -> ScoringCode:
    """The scoring code of a package whose modules have these import names, the first read first."""
    names = NameResolver(_bounded(read, _MOST_BYTES))
    code = ScoringCode()
    reach = _ScoringCollector(names, code)
    for name in modules:
        scope = names.module(name)
        if scope is None:
            code.broken.append(name)
        else:
            for part in scope.inwards():
                reach.add_roots(part)
    reach.follow()
    return code


def changed_parts(before: ScoringCode, after: ScoringCode) -> Mapping[str, str]:
    """The parts that are `added`, `removed` or `changed`, by name."""
    found = {}
    for name in sorted({*before.parts, *after.parts}):
        old, new = before.parts.get(name), after.parts.get(name)
        if old != new:
            found[name] = "added" if old is None else "removed" if new is None else "changed"
    return found


def digest_code(text: str) -> str:
    """A digest of what a module does, docstrings included: tools are described by theirs.

    Of its very text where it cannot be parsed or is large.
    """
    if len(text) <= _LARGEST_DIGESTED:
        with suppress(SyntaxError, ValueError, RecursionError, MemoryError):
            return _digest([ast.parse(text)])
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _bounded(read: ReadModule, most: int) -> ReadModule:
    """`read` until `most` characters were read; then there are no more modules."""
    left = most

    def bounded(path: str) -> str | None:
        nonlocal left
        text = read(path)
        if text is None or len(text) > left:
            return None
        left -= len(text)
        return text

    return bounded


class _ScoringCollector:
    """Collects what scores, and what that uses, into a ScoringCode."""

    def __init__(self, names: NameResolver, code: ScoringCode) -> None:
        self._names = names
        self._code = code
        self._waiting: list[Binding] = []
        self._seen: set[Binding] = set()

    def add_roots(self, scope: CodeScope) -> None:
        """Begin with what scores in `scope` itself."""
        for name, nodes in scope.bound.items():
            if any(_is_scoring(node, scope) for node in nodes):
                self._waiting.append(Binding(name, scope))
        if scope.is_class and _is_rubric_class(scope):
            return
        calls = [call for call in scoped_calls(scope) if _configures(call)]
        if calls:
            self._put(f"{scope.label}: {last_name(calls[0])}(…)", calls)
            for call in calls:
                self._use(call, scope)

    def follow(self) -> None:
        """Add what the parts use, until there is nothing new."""
        while self._waiting:
            binding = self._waiting.pop()
            if binding in self._seen:
                continue
            self._seen.add(binding)
            self._put(binding.label, binding.nodes)
            for node in binding.nodes:
                self._use(node, binding.scope)

    def _put(self, label: str, nodes: Iterable[ast.AST]) -> None:
        self._code.parts[label] = _digest(nodes)

    def _use(self, node: ast.AST, scope: CodeScope) -> None:
        own = scope.inner.get(node)
        for each, where in scoped_nodes(node, scope):
            for binding in self._meant(each, where):
                if own is None or own not in binding.scope.outwards():
                    self._waiting.append(binding)

    def _meant(self, node: ast.AST, scope: CodeScope) -> Iterator[Binding]:
        found = None
        match node:
            case ast.Name(id=name):
                found = self._names.find(name, scope)
            case ast.Attribute(value=ast.Name(id="self" | "cls"), attr=name):
                yield from self._names.find_in_class(name, scope.enclosing_class)
            case ast.Attribute(value=ast.Name(id=alias), attr=name):
                found = self._names.find_in_module(name, alias, scope)
        if found is not None:
            yield found


def _is_scoring(node: ast.AST, scope: CodeScope) -> bool:
    match node:
        case ast.ClassDef():
            return _is_rubric_class(scope.inner[node])
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            decorated = any(last_name(each) in _DECORATORS for each in node.decorator_list)
            return decorated or (scope.is_class and node.name in _METHODS)
    return False


def _is_rubric_class(scope: CodeScope) -> bool:
    bases = scope.node.bases if isinstance(scope.node, ast.ClassDef) else []
    return any(last_name(base).endswith(_RUBRIC) for base in bases)


def _configures(call: ast.Call) -> bool:
    """Whether a call makes a rubric, or tells one what to pay for."""
    name = last_name(call)
    told = any(keyword.arg in _KEYWORDS for keyword in call.keywords)
    return name.endswith(_RUBRIC) or name in _ADDING or told


def _digest(nodes: Iterable[ast.AST]) -> str:
    digest = hashlib.sha256()
    for node in nodes:
        # Level by level, so that no depth is too deep.
        for each in ast.walk(node):
            digest.update(_shape(each).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def _shape(node: ast.AST) -> str:
    """The kind of a node, its plain values, and how many children it has where."""
    parts = [type(node).__name__]
    for _, value in ast.iter_fields(node):
        parts.append(",".join(map(_plain, value if isinstance(value, list) else [value])))
    return f"{'|'.join(parts)}\n"


def _plain(value: object) -> str:
    if isinstance(value, ast.AST):
        return "."
    # A number may have more digits than Python is willing to write.
    return hex(value) if isinstance(value, int) else repr(value)
