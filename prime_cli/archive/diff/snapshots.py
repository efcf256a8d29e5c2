"""One side of a comparison: the files, modules and arguments of one form of an environment."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from prime_cli.archive.arguments import LoadArgument, read_arguments
from prime_cli.archive.diff.file_trees import FileContent, FileTree
from prime_cli.archive.source_analysis import Generation
from prime_cli.archive.wheels import WheelFacts

_TESTS = frozenset({"test", "tests"})


@dataclass(frozen=True)
class Snapshot:
    """One form of an environment; `label` says which, and `sha256` is that of its wheel.

    `files` are those that are installed. `pyproject` is that of its sources, None where they are
    not at hand.
    """

    label: str
    name: str
    version: str
    files: FileTree
    requires: tuple[str, ...] = ()
    requires_python: str | None = None
    module: str | None = None
    generation: Generation | None = None
    sha256: str | None = None
    pyproject: FileContent | None = field(default=None, repr=False)

    @classmethod
    def of_wheel(cls, label: str, facts: WheelFacts, files: FileTree, sha256: str) -> "Snapshot":
        """The one that a wheel with these facts and files installs."""
        return cls(
            label=label,
            name=facts.name,
            version=facts.version,
            files=files,
            requires=facts.requires_dist,
            requires_python=facts.requires_python,
            module=facts.module,
            generation=facts.exposes,
            sha256=sha256,
        )

    def read(self, path: str) -> str | None:
        """The text of a file, None if it is missing or too large."""
        found = self.files.get(path)
        if found is None or found.content is None:
            return None
        return found.content.decode("utf-8", errors="replace")

    @property
    def modules(self) -> tuple[str, ...]:
        """The import names of its modules, its own ones first, without those of tests."""
        names = sorted(_modules(self.files))
        return tuple(sorted(names, key=lambda name: name.split(".")[0] != self.module))

    @property
    def arguments(self) -> Mapping[str, LoadArgument]:
        """What it takes, by name; empty where that cannot be read."""
        if self.module is None or self.generation is None:
            return {}
        found = read_arguments(self.module, self.generation, self.read)
        return {each.name: each for each in found or ()}


def _modules(files: FileTree) -> Iterator[str]:
    for path in files:
        parts = path.removesuffix(".py").split("/")
        if path.endswith(".py") and _TESTS.isdisjoint(parts) and all(map(str.isidentifier, parts)):
            yield ".".join(parts[:-1] if parts[-1] == "__init__" and parts[1:] else parts)
