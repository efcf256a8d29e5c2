"""What a workspace has, read from its site-packages; its Python is not started."""

import base64
import csv
import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import dataclass
from functools import cached_property, partial
from importlib.metadata import Distribution, PackageMetadata
from pathlib import Path
from typing import TypeVar
from urllib.parse import urlsplit
from urllib.request import url2pathname

import msgspec
from packaging.markers import Marker, default_environment
from packaging.requirements import InvalidRequirement, Requirement

from prime_cli.core.archive.source_analysis import Generation, find_generation
from prime_cli.core.errors import BadProject, StorageFailed
from prime_cli.core.paths import write_atomically
from prime_cli.core.refs import is_namesake, module_name, normalize_name
from prime_cli.envs.project.folder import load_project
from prime_cli.runtime.verifiers_releases import LIBRARY

ORIGIN_FILE = "prime.json"
_SHA256 = "sha256="
_FOLDER = re.compile(r"(?P<name>.+)-(?P<version>[^-]+)\.dist-info")


Noted = TypeVar("Noted")


class Origin(msgspec.Struct, omit_defaults=True, frozen=True):
    """Where an installed environment came from: a hub's ref and sha256, or a local path.

    `fails` is why it did not import or load when it was installed, None if it did.
    """

    ref: str | None = None
    sha256: str | None = None
    path: str | None = None
    fails: str | None = None


class _DirInfo(msgspec.Struct):
    editable: bool = False


class _DirectUrl(msgspec.Struct):
    url: str
    dir_info: _DirInfo = msgspec.field(default_factory=_DirInfo)


@dataclass(frozen=True)
class InstalledEnvironment:
    """An environment in the workspace; `origin` None: something else than prime installed it."""

    name: str
    version: str
    module: str
    generation: Generation
    origin: Origin | None = None


@dataclass(frozen=True)
class InstalledList:
    """Those of the workspace, and how many they are."""

    environments: list[InstalledEnvironment]
    total: int


@dataclass(frozen=True)
class InstalledPackage:
    """One installed package by its `.dist-info` folder; `name` is normalised."""

    name: str
    version: str
    folder: Path

    @property
    def display_name(self) -> str:
        """The name as its author writes it."""
        return next(iter(self.headers("Name")), self.name)

    @property
    def requires(self) -> list[Requirement]:
        return parse_requirements(self.headers("Requires-Dist"))

    @property
    def origin(self) -> Origin | None:
        return self._decoded(ORIGIN_FILE, Origin)

    @property
    def editable_folder(self) -> Path | None:
        """The project folder of an editable installation, which PEP 610 has installers note."""
        noted = self._decoded("direct_url.json", _DirectUrl)
        if noted is None or not noted.dir_info.editable:
            return None
        url = urlsplit(noted.url)
        return Path(url2pathname(url.path)) if url.scheme == "file" else None

    def read(self, name: str) -> str | None:
        """The text of one of the files about the package; None where it cannot be read."""
        with suppress(OSError, UnicodeDecodeError):
            return Distribution.at(self.folder).read_text(name)
        return None

    def headers(self, name: str) -> list[str]:
        """The values of a field of METADATA."""
        return (self._metadata.get_all(name) if self._metadata else None) or []

    @cached_property
    def _metadata(self) -> PackageMetadata | None:
        with suppress(OSError, UnicodeDecodeError):
            return Distribution.at(self.folder).metadata
        return None

    def _decoded(self, name: str, kind: type[Noted]) -> Noted | None:
        with suppress(msgspec.MsgspecError):
            return msgspec.json.decode(self.read(name) or "", type=kind)
        return None


def parse_requirements(texts: Iterable[str]) -> list[Requirement]:
    """The requirements that can be read; old metadata has some that cannot, and uv has the word."""
    found = []
    for text in texts:
        try:
            found.append(Requirement(text))
        except InvalidRequirement:
            continue
    return found


def wanted_requirements(
    texts: Iterable[str], extras: Sequence[str], version: str
) -> list[Requirement]:
    """The requirements of a package with `extras`; those of an extra without its marker.

    `version` is that of the Python that they are for; empty for one like prime's.
    """
    found, environment = parse_requirements(texts), marker_environment(version)
    for requirement in list(found):
        marker = requirement.marker
        if applies(marker, environment):
            continue
        if any(applies(marker, environment, extra) for extra in extras):
            plain = copy(requirement)
            plain.marker = None
            found.append(plain)
    return found


def read_distributions(site: Path | None) -> dict[str, InstalledPackage]:
    """The packages in a site-packages folder by normalised name."""
    found = {}
    for folder in sorted(site.glob("*.dist-info")) if site else ():
        matched = _FOLDER.fullmatch(folder.name)
        if matched and (folder / "METADATA").is_file():
            name = normalize_name(matched["name"])
            found[name] = InstalledPackage(name, matched["version"], folder)
    return found


def list_installed(site: Path | None) -> list[InstalledEnvironment]:
    """The environments among the packages of a site-packages folder, by name."""
    found = [_environment(package) for package in read_distributions(site).values()]
    return [environment for environment in found if environment is not None]


def record_origin(package: InstalledPackage, origin: Origin) -> None:
    """Write down where `package` came from, as one of its own files; raises StorageFailed.

    It is added to RECORD so that any installer removes it with the package. RECORD is replaced,
    not appended to: it may be one file with the copy in an installer's cache.
    """
    write_atomically(package.folder / ORIGIN_FILE, msgspec.json.encode(origin), mode=0o644)
    record = package.folder / "RECORD"
    line = f"{package.folder.name}/{ORIGIN_FILE},,"
    lines = record.read_text(encoding="utf-8").splitlines() if record.is_file() else []
    if line not in lines:
        write_atomically(record, "\n".join([*lines, line, ""]).encode(), mode=0o644)


def recorded_files(package: InstalledPackage) -> tuple[tuple[str, str | None], ...] | None:
    """Each path below site-packages with its digest as RECORD writes it; None without a RECORD.

    RECORD is a CSV of path, `sha256=` digest in base64 without padding, and size. Files outside
    of site-packages, such as scripts, are left out. `importlib.metadata` would leave out those
    that are missing, too.
    """
    text = package.read("RECORD")
    try:
        rows = None if text is None else list(csv.reader(text.splitlines()))
    except csv.Error:
        rows = None
    if rows is None:
        return None
    site = package.folder.parent.resolve()
    return tuple(
        (row[0], row[1].removeprefix(_SHA256) if row[1].startswith(_SHA256) else None)
        for row in rows
        if len(row) > 1 and row[0] and _is_inside(site, row[0])
    )


def altered_files(package: InstalledPackage) -> Iterator[str]:
    """The paths, below site-packages, of files that are missing or have another digest.

    Those without a digest in RECORD, such as what installers add, are not looked at.
    """
    recorded = recorded_files(package)
    if recorded is None:
        yield f"{package.folder.name}/RECORD"
        return
    for path, digest in recorded:
        if digest is not None and _digest(package.folder.parent / path) != digest.rstrip("="):
            yield path


def _is_inside(site: Path, path: str) -> bool:
    """A RECORD may be anybody's: nothing outside of site-packages is read for it."""
    return "\0" not in path and (site / path).resolve().is_relative_to(site)


def _digest(file: Path) -> str | None:
    try:
        with file.open("rb") as content:
            found = hashlib.file_digest(content, "sha256").digest()
    except OSError:
        return None
    return base64.urlsafe_b64encode(found).rstrip(b"=").decode()


def unmet_requirements(
    requirements: list[Requirement], installed: dict[str, InstalledPackage], version: str
) -> list[Requirement]:
    """Which of `requirements` the packages do not meet under Python `version`, extras included.

    A requirement by URL counts as unmet: what is installed does not tell which commit it is.
    """
    environment = marker_environment(version)
    waiting = [r for r in requirements if applies(r.marker, environment)]
    seen: set[tuple[str, frozenset[str]]] = set()
    unmet = []
    while waiting:
        requirement = waiting.pop()
        package = installed.get(normalize_name(requirement.name))
        if package is None or not _meets(package, requirement):
            unmet.append(requirement)
            continue
        key = (package.name, frozenset(requirement.extras))
        if requirement.extras and key not in seen:
            seen.add(key)
            waiting += _of_extras(package, requirement.extras, environment)
    return unmet


def _of_extras(
    package: InstalledPackage, extras: set[str], environment: dict[str, str]
) -> Iterator[Requirement]:
    for requirement in package.requires:
        marker = requirement.marker
        if applies(marker, environment):
            continue
        if any(applies(marker, environment, extra) for extra in extras):
            yield requirement


def _meets(package: InstalledPackage, requirement: Requirement) -> bool:
    if requirement.url is not None:
        return False
    return requirement.specifier.contains(package.version, prereleases=True)


def applies(marker: Marker | None, environment: dict[str, str], extra: str = "") -> bool:
    """Whether a requirement with `marker` is one in that environment, asked for `extra`."""
    return marker is None or marker.evaluate({**environment, "extra": extra})


def marker_environment(version: str) -> dict[str, str]:
    """PEP 508 variables of a Python of `version` on this machine; empty: of prime's."""
    minor = ".".join(version.split(".")[:2])
    ours = {name: str(value) for name, value in default_environment().items()}
    if not version:
        return ours
    return {**ours, "python_version": minor, "python_full_version": version}


def _environment(package: InstalledPackage) -> InstalledEnvironment | None:
    needs_library = any(r.name.lower() == LIBRARY for r in package.requires)
    if package.origin is None and not needs_library:
        return None
    project = package.editable_folder
    folders = [project, project / "src"] if project else [package.folder.parent]
    origin = package.origin or (Origin(path=str(project)) if project else None)
    for module in _modules_of(project) if project else _modules(package):
        generation = find_generation(module, partial(_read, folders))
        if generation is not None:
            name = package.display_name
            return InstalledEnvironment(name, package.version, module, generation, origin)
    return None


def _modules_of(project: Path) -> list[str]:
    try:
        return [load_project(project).module]
    except (BadProject, StorageFailed):  # moved or broken since it was installed
        return []


def _modules(package: InstalledPackage) -> list[str]:
    """Import names of a package, its namesake first."""
    paths = (path for path, _ in recorded_files(package) or ())
    tops = {path.split("/")[0].removesuffix(".py") for path in paths}
    modules = [top for top in tops if top.isidentifier()]
    ordered = sorted(modules, key=lambda module: (not is_namesake(module, package.name), module))
    return list(dict.fromkeys([*ordered, module_name(package.name)]))


def _read(folders: Iterable[Path], path: str) -> str | None:
    for folder in folders:
        try:
            return (folder / path).read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue
    return None
