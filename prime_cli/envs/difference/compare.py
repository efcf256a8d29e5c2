"""What is different between two sides, part by part."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from packaging.requirements import InvalidRequirement, Requirement

from prime_cli.archive.signatures import Argument
from prime_cli.core.refs import normalize_name
from prime_cli.envs.difference.scoring import changed_parts, read_scoring
from prime_cli.envs.difference.sides import Side
from prime_cli.envs.difference.texts import MOST_LINES, count_lines, diff_texts, is_binary
from prime_cli.envs.difference.trees import FileContent, Tree
from prime_cli.envs.difference.verdict import Verdict, judge
from prime_cli.envs.pyproject import FILENAME as PYPROJECT

_MOST_OF_ALL = 4_000
"""Lines of diffs that are kept in all; the other files are only counted."""

Status = Literal["added", "removed", "changed"]


@dataclass(frozen=True)
class FileChange:
    """One file; `added` and `removed` count lines, None where it is no text that can be shown.

    `diff` are lines of a unified diff without its head, fit for a terminal. `note` says what they
    do not show.
    """

    path: str
    status: Status
    added: int | None = None
    removed: int | None = None
    diff: tuple[str, ...] = ()
    note: str | None = None


@dataclass(frozen=True)
class ValueChange:
    """A dependency or an argument, as both sides spell it; None where it is absent."""

    name: str
    before: str | None
    after: str | None


@dataclass(frozen=True)
class RewardChange:
    """A part of the code that decides about rewards, such as `wordle.load_environment.right`."""

    name: str
    status: str


@dataclass(frozen=True)
class SideFacts:
    """A side in short."""

    label: str
    version: str
    generation: str | None
    sha256: str | None


@dataclass(frozen=True)
class Difference:
    """Everything that is different from side `a` to side `b`, and what it does to scores."""

    a: SideFacts
    b: SideFacts
    verdict: Verdict
    rewards: tuple[RewardChange, ...] = ()
    arguments: tuple[ValueChange, ...] = ()
    dependencies: tuple[ValueChange, ...] = ()
    files: tuple[FileChange, ...] = field(default=())

    @property
    def is_empty(self) -> bool:
        """Whether nothing that is installed differs."""
        return not (self.rewards or self.arguments or self.dependencies or self.files)


def compare_sides(a: Side, b: Side) -> Difference:
    """Read both sides and compare them; none of their code is run."""
    scoring = read_scoring(a.modules, a.read), read_scoring(b.modules, b.read)
    rewards = changed_parts(*scoring)
    arguments = tuple(_arguments(a, b))
    dependencies = tuple(_dependencies(a, b))
    files = tuple(_files(*_with_pyproject(a, b)))
    return Difference(
        a=_facts(a),
        b=_facts(b),
        verdict=judge(a, b, rewards, scoring, [each.name for each in dependencies]),
        rewards=tuple(RewardChange(name, status) for name, status in rewards.items()),
        arguments=arguments,
        dependencies=dependencies,
        files=files,
    )


def _facts(side: Side) -> SideFacts:
    return SideFacts(side.label, side.version, side.generation, side.sha256)


def _with_pyproject(a: Side, b: Side) -> tuple[Tree, Tree]:
    """Both trees, with the pyproject.toml of the sources where both have one."""
    if a.pyproject is None or b.pyproject is None:
        return a.files, b.files
    return {PYPROJECT: a.pyproject, **a.files}, {PYPROJECT: b.pyproject, **b.files}


def _files(before: Tree, after: Tree) -> Iterator[FileChange]:
    left = _MOST_OF_ALL
    for path in sorted({*before, *after}):
        old, new = before.get(path), after.get(path)
        if old is not None and new is not None and old.sha256 == new.sha256:
            continue
        change = _file(path, old, new, most=min(left, MOST_LINES))
        left -= len(change.diff)
        yield change


def _file(path: str, old: FileContent | None, new: FileContent | None, *, most: int) -> FileChange:
    status: Status = "added" if old is None else "removed" if new is None else "changed"
    sides = [side for side in (old, new) if side is not None]
    contents = [side.content for side in sides]
    sizes = " to ".join(f"{side.size}" for side in sides)
    if any(content is None for content in contents):
        return FileChange(path, status, note=f"too large to be shown, {sizes} bytes")
    if any(is_binary(content) for content in contents if content is not None):
        return FileChange(path, status, note=f"binary, {sizes} bytes")
    one = (old.content if old else None) or b""
    other = (new.content if new else None) or b""
    found = diff_texts(one, other, most=most)
    note = None
    if found.cut:
        note = f"{len(found.lines)} lines of its diff are shown" if found.lines else "not shown"
    elif not found.lines:
        note = "only its last line ends otherwise" if count_lines(one) else "empty"
    return FileChange(path, status, found.added, found.removed, found.lines, note)


def _dependencies(a: Side, b: Side) -> Iterator[ValueChange]:
    before, after = _requirements(a.requires), _requirements(b.requires)
    if a.requires_python != b.requires_python:
        yield ValueChange("python", a.requires_python or "any", b.requires_python or "any")
    for name in sorted({*before, *after}):
        if before.get(name) != after.get(name):
            yield ValueChange(name, before.get(name), after.get(name))


def _requirements(texts: Sequence[str]) -> dict[str, str]:
    """What is said of each package; several lines of one package are put together."""
    found: dict[str, list[str]] = {}
    for text in texts:
        try:
            requirement = Requirement(text)
        except InvalidRequirement:
            found.setdefault(text.split(";")[0].strip(), []).append("?")
            continue
        rest = str(requirement).removeprefix(requirement.name).strip() or "any"
        found.setdefault(normalize_name(requirement.name), []).append(rest)
    return {name: " and ".join(sorted(said)) for name, said in found.items()}


def _arguments(a: Side, b: Side) -> Iterator[ValueChange]:
    before, after = a.arguments, b.arguments
    for name in dict.fromkeys([*before, *after]):
        old, new = before.get(name), after.get(name)
        if old != new:
            yield ValueChange(name, _spelled(old), _spelled(new))


def _spelled(argument: Argument | None) -> str | None:
    if argument is None:
        return None
    kind = f": {argument.annotation}" if argument.annotation else ""
    default = "required" if argument.default is None else f"= {argument.default}"
    return f"{argument.name}{kind} {default}"
