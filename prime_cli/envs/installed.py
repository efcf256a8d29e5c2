"""What a workspace has, read from its site-packages; its Python is not started."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

import msgspec
from packaging.markers import Marker, default_environment
from packaging.metadata import RawMetadata, parse_email
from packaging.requirements import InvalidRequirement, Requirement

from prime_cli.archive.source_analysis import Generation, find_generation
from prime_cli.core.errors import BadProject, StorageFailed
from prime_cli.core.paths import write_atomically
from prime_cli.core.refs import module_name, normalize_name
from prime_cli.envs.project import load_project
from prime_cli.runtime.verifiers_releases import LIBRARY

ORIGIN_FILE = "prime.json"
_FOLDER = re.compile(r"(?P<name>.+)-(?P<version>[^-]+)\.dist-info")


class Origin(msgspec.Struct, omit_defaults=True, frozen=True):
    """Where an installed environment came from: a hub's ref and sha256, or a local path."""

    ref: str | None = None
    sha256: str | None = None
    path: str | None = None


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
class Distribution:
    """One installed package by its `.dist-info` folder; `name` is normalised."""

    name: str
    version: str
    folder: Path

    @cached_property
    def metadata(self) -> RawMetadata:
        try:
            content = (self.folder / "METADATA").read_bytes()
        except OSError:
            return {}
        return parse_email(content)[0]

    @property
    def requires(self) -> list[Requirement]:
        return parse_requirements(self.metadata.get("requires_dist", ()))

    @property
    def origin(self) -> Origin | None:
        try:
            content = (self.folder / ORIGIN_FILE).read_bytes()
            return msgspec.json.decode(content, type=Origin)
        except (OSError, msgspec.MsgspecError):
            return None

    @property
    def editable_folder(self) -> Path | None:
        """The project folder of an editable installation, which PEP 610 has installers note."""
        try:
            content = (self.folder / "direct_url.json").read_bytes()
            noted = msgspec.json.decode(content, type=_DirectUrl)
        except (OSError, msgspec.MsgspecError):
            return None
        url = urlsplit(noted.url)
        is_here = noted.dir_info.editable and url.scheme == "file"
        return Path(url2pathname(url.path)) if is_here else None


def parse_requirements(texts: Iterable[str]) -> list[Requirement]:
    """The requirements that can be read; old metadata has some that cannot, and uv has the word."""
    found = []
    for text in texts:
        try:
            found.append(Requirement(text))
        except InvalidRequirement:
            continue
    return found


def read_distributions(site: Path | None) -> dict[str, Distribution]:
    """The packages in a site-packages folder by normalised name."""
    found = {}
    for folder in sorted(site.glob("*.dist-info")) if site else ():
        matched = _FOLDER.fullmatch(folder.name)
        if matched and (folder / "METADATA").is_file():
            name = normalize_name(matched["name"])
            found[name] = Distribution(name, matched["version"], folder)
    return found


def list_installed(site: Path | None) -> list[InstalledEnvironment]:
    """The environments among the packages of a site-packages folder, by name."""
    found = [_environment(package) for package in read_distributions(site).values()]
    return [environment for environment in found if environment is not None]


def record_origin(package: Distribution, origin: Origin) -> None:
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


def unmet_requirements(
    requirements: list[Requirement], installed: dict[str, Distribution], version: str
) -> list[Requirement]:
    """Which of `requirements` the packages do not meet under Python `version`, extras included.

    A requirement by URL counts as unmet: what is installed does not tell which commit it is.
    """
    environment = _marker_environment(version)
    waiting = [r for r in requirements if _applies(r.marker, environment, "")]
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
    package: Distribution, extras: set[str], environment: dict[str, str]
) -> Iterator[Requirement]:
    for requirement in package.requires:
        marker = requirement.marker
        if marker is None or _applies(marker, environment, ""):
            continue
        if any(_applies(marker, environment, extra) for extra in extras):
            yield requirement


def _meets(package: Distribution, requirement: Requirement) -> bool:
    if requirement.url is not None:
        return False
    return requirement.specifier.contains(package.version, prereleases=True)


def _applies(marker: Marker | None, environment: dict[str, str], extra: str) -> bool:
    return marker is None or marker.evaluate({**environment, "extra": extra})


def _marker_environment(version: str) -> dict[str, str]:
    """PEP 508 variables of a Python of `version` on this machine."""
    minor = ".".join(version.split(".")[:2])
    ours = {name: str(value) for name, value in default_environment().items()}
    return {**ours, "python_version": minor, "python_full_version": version}


def _environment(package: Distribution) -> InstalledEnvironment | None:
    needs_library = any(r.name.lower() == LIBRARY for r in package.requires)
    if package.origin is None and not needs_library:
        return None
    project = package.editable_folder
    folders = [project, project / "src"] if project else [package.folder.parent]
    origin = package.origin or (Origin(path=str(project)) if project else None)
    for module in _modules_of(project) if project else _modules(package):
        generation = find_generation(module, partial(_read, folders))
        if generation is not None:
            name = package.metadata.get("name", package.name)
            return InstalledEnvironment(name, package.version, module, generation, origin)
    return None


def _modules_of(project: Path) -> list[str]:
    try:
        return [load_project(project).module]
    except (BadProject, StorageFailed):  # moved or broken since it was installed
        return []


def _modules(package: Distribution) -> list[str]:
    """Import names of a package, its namesake first."""
    namesake = module_name(package.name)
    try:
        lines = (package.folder / "RECORD").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    tops = {line.partition(",")[0].split("/")[0].removesuffix(".py") for line in lines}
    return [namesake, *sorted(top for top in tops if top.isidentifier() and top != namesake)]


def _read(folders: Iterable[Path], path: str) -> str | None:
    for folder in folders:
        try:
            return (folder / path).read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue
    return None
