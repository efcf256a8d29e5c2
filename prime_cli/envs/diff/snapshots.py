"""The two sides of a difference: a published version, a wheel, a project or what is installed."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from prime_cli.archive.arguments import LoadArgument, read_arguments
from prime_cli.archive.source_analysis import Generation, find_generation
from prime_cli.archive.wheels import WheelFacts
from prime_cli.core.digests import digest_bytes
from prime_cli.core.errors import NotFound
from prime_cli.core.paths import prime_home
from prime_cli.core.progress import Progress
from prime_cli.core.refs import EnvRef, is_reference, normalize_name
from prime_cli.envs.diff.file_trees import (
    LARGEST_TEXT,
    FileContent,
    FileTree,
    installed_tree,
    wheel_tree,
)
from prime_cli.envs.fetch import fetch_wheel
from prime_cli.envs.install.dependencies import OpenHub
from prime_cli.envs.install.installed import InstalledPackage, read_distributions
from prime_cli.envs.install.workspace import find_workspace, site_packages
from prime_cli.envs.lockfile.file import EnvironmentLock, find_lock
from prime_cli.envs.names import resolve_name
from prime_cli.envs.project.build import build_into_store
from prime_cli.envs.project.folder import choose_local, load_project
from prime_cli.runtime.packages import WheelPackage, read_package

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


class SnapshotLoader:
    """Opens sides; `here` is the folder that words are seen from. None of their code is run.

    But for the build backend of a project, which makes its wheel.
    """

    def __init__(
        self, hub: OpenHub, here: Path, progress: Progress, *, offline: bool = False
    ) -> None:
        self._hub = hub
        self._here = here
        self._progress = progress
        self._offline = offline

    def open(self, word: str) -> Snapshot:
        """A folder, a wheel, `owner/name[@version]` or a bare name; raises as fetching does."""
        local = choose_local(word, self._here, self._progress)
        if local is None:
            return self.published(resolve_name(self._hub(), word, progress=self._progress))
        if local.suffix == ".whl":
            return _of_package(str(local), read_package(local))
        return self._of_folder(local, str(local))

    def published(self, ref: EnvRef) -> Snapshot:
        """A version on the hub; nobody is asked whether its code may run."""
        fetched = fetch_wheel(self._hub(), ref, progress=self._progress, offline=self._offline)
        side = _of_package(str(fetched.ref), fetched.package)
        text = fetched.pyproject
        return side if text is None else replace(side, pyproject=_content(text.encode()))

    def pair(self, first: str, second: str | None, python: str | None) -> tuple[Snapshot, Snapshot]:
        """The sides `first` and `second`; of `first` alone, what the workspace has of it, and it.

        `python` names another workspace than the one seen from here.
        """
        if second is not None:
            return self.open(first), self.open(second)
        b = self.open(first)
        installed = read_distributions(site_packages(find_workspace(python, here=self._here)))
        name = EnvRef.parse(first).name if is_reference(first) else b.name
        return self.present(name, installed, find_lock(self._here)), b

    def present(
        self, name: str, installed: Mapping[str, InstalledPackage], lock: EnvironmentLock | None
    ) -> Snapshot:
        """What the workspace has under `name`: installed, else locked; raises NotFound."""
        package = installed.get(normalize_name(name))
        if package is not None:
            return self._of_installed(package)
        entry = lock.find_name(name) if lock else None
        if entry is None:
            raise NotFound(
                f"`{name}` is neither installed nor locked here, so there is "
                "nothing to compare with",
                hint="pass both sides, as in `prime env diff ada/wordle@1.0 ada/wordle@1.1`",
            )
        side = self.published(replace(entry.env_ref, sha256=entry.sha256))
        return replace(side, label=f"{side.label} (locked)")

    def _of_installed(self, package: InstalledPackage) -> Snapshot:
        folder = package.editable_folder
        if folder is not None:
            return self._of_folder(folder, f"{package.name} (a project, installed)")
        files = installed_tree(package)
        origin = package.origin
        side = Snapshot(
            label=f"{(origin and origin.ref) or f'{package.name} {package.version}'} (installed)",
            name=package.name,
            version=package.version,
            files=files,
            requires=tuple(package.headers("Requires-Dist")),
            requires_python=next(iter(package.headers("Requires-Python")), None),
            sha256=origin.sha256 if origin else None,
        )
        return _with_module(side)

    def _of_folder(self, folder: Path, label: str) -> Snapshot:
        project = load_project(folder)
        built = build_into_store(project, prime_home(), self._progress, offline=self._offline)
        side = _of_package(label, read_package(built))
        return replace(side, pyproject=_content(project.file.read_bytes()))


def _of_package(label: str, package: WheelPackage) -> Snapshot:
    facts: WheelFacts = package.facts
    return Snapshot(
        label=label,
        name=facts.name,
        version=facts.version,
        files=wheel_tree(package.path),
        requires=facts.requires_dist,
        requires_python=facts.requires_python,
        module=facts.module,
        generation=facts.exposes,
        sha256=package.sha256,
    )


def _with_module(side: Snapshot) -> Snapshot:
    """With the module that exposes an environment; its namesake goes first."""
    namesake = normalize_name(side.name).replace("-", "_")
    tops = {name for name in side.modules if "." not in name}
    for name in sorted(tops, key=lambda each: (each != namesake, each)):
        generation = find_generation(name, side.read)
        if generation is not None:
            return replace(side, module=name, generation=generation)
    return side


def _modules(files: FileTree) -> Iterator[str]:
    for path in files:
        parts = path.removesuffix(".py").split("/")
        if path.endswith(".py") and _TESTS.isdisjoint(parts) and all(map(str.isidentifier, parts)):
            yield ".".join(parts[:-1] if parts[-1] == "__init__" and parts[1:] else parts)


def _content(content: bytes) -> FileContent:
    kept = content if len(content) <= LARGEST_TEXT else None
    return FileContent(digest_bytes(content), len(content), kept)
