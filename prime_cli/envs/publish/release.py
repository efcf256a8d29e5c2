"""What is to be published: the sources of a project folder, or a wheel that was built already."""

import codecs
import re
import shutil
import tempfile
import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import Any

import tomli_w
from packaging.version import InvalidVersion, Version

from prime_cli.core.archive.members import unpack_archive
from prime_cli.core.archive.sources import SourceFile, content_hash, list_sources
from prime_cli.core.archive.wheel_comparison import check_record
from prime_cli.core.archive.wheels import WheelFacts, open_wheel, read_wheel
from prime_cli.core.errors import BadProject, NotFound, PrimeError, UsageError
from prime_cli.core.paths import storage_errors, write_atomically
from prime_cli.core.refs import normalize_name
from prime_cli.envs.project.folder import Project, find_project, load_project
from prime_cli.envs.project.pyproject import FILENAME
from prime_cli.envs.publish.provenance import record_pending
from prime_cli.envs.publish.source_checks import check_sources

_SOURCE_FOLDERS = (".", "src")


@dataclass(frozen=True)
class Release:
    """Sources in order of their path, and the wheel with its facts if it is built already.

    `allowed_secrets` are globs of files that may look like secrets.
    """

    project: Project
    files: tuple[SourceFile, ...]
    built: tuple[Path, WheelFacts] | None = None
    allowed_secrets: tuple[str, ...] = ()

    @cached_property
    def content_hash(self) -> str:
        """The official content hash of the sources."""
        return content_hash(self.files)


# --- The next version, by PEP 440 ---
# Candidates and post-releases are counted from 0, as by the official client.


def bump_patch(version: str) -> str:
    """The next patch release: `0.1.9` gives `0.1.10`, and so does any pre- or post-release of it.

    A pre-release gives the release that it leads to: `0.2.0rc1` gives `0.2.0`.
    """
    parsed = _parse_version(version)
    if parsed.is_prerelease and not parsed.is_postrelease:
        return _release(parsed, _three_numbers(parsed))
    major, minor, patch, *rest = _three_numbers(parsed)
    return _release(parsed, (major, minor, patch + 1, *(0 for _ in rest)))


def next_rc(version: str) -> str:
    """The next release candidate: `0.2.0` gives `0.2.0rc0`, `0.2.0rc0` gives `0.2.0rc1`.

    After a post-release it is a candidate of the next patch, since one of the same release would
    sort below what is out.
    """
    parsed = _parse_version(version)
    if parsed.is_postrelease:
        return f"{bump_patch(version)}rc0"
    kind, number = parsed.pre or ("", 0)
    return f"{_release(parsed, parsed.release)}rc{number + 1 if kind == 'rc' else 0}"


def next_post(version: str) -> str:
    """The next post-release: `0.1.9` gives `0.1.9.post0`, `0.1.9.post0` gives `0.1.9.post1`."""
    parsed = _parse_version(version)
    pre = "{}{}".format(*parsed.pre) if parsed.pre else ""
    post = 0 if parsed.post is None else parsed.post + (0 if parsed.is_devrelease else 1)
    return f"{_release(parsed, parsed.release)}{pre}.post{post}"


def _parse_version(version: str) -> Version:
    try:
        return Version(version)
    except InvalidVersion as error:
        raise UsageError(
            f"`{version}` is not a version", hint="use a PEP 440 version such as `0.1.0`"
        ) from error


def _three_numbers(parsed: Version) -> tuple[int, ...]:
    return parsed.release + (0,) * (3 - len(parsed.release))


def _release(parsed: Version, numbers: tuple[int, ...]) -> str:
    epoch = f"{parsed.epoch}!" if parsed.epoch else ""
    return epoch + ".".join(str(number) for number in numbers)


class VersionBump(StrEnum):
    """Which version comes next."""

    PATCH = "patch"
    RC = "rc"
    POST = "post"


_NEXT: dict[VersionBump, Callable[[str], str]] = {
    VersionBump.PATCH: bump_patch,
    VersionBump.RC: next_rc,
    VersionBump.POST: next_post,
}


@contextmanager
def open_release(
    target: str | None, folder: Path, *, allowed_secrets: tuple[str, ...] = ()
) -> Iterator[Release]:
    """What `target` (a folder, a bare NAME or a wheel; None: `folder`) stands for, checked.

    Writes nothing but, for a wheel on its own, a temporary folder. Raises BadProject, NotFound,
    UnsafeContent (too much, or likely secrets), IntegrityError (a damaged wheel).
    """
    if target is None or not target.endswith(".whl"):
        yield _checked(load_project(find_project(target, folder)), None, allowed_secrets)
        return
    wheel = folder / Path(target).expanduser()
    if not wheel.is_file():
        raise NotFound(f"There is no wheel {wheel}", hint="build one with `prime env build`")
    check_record(wheel)
    facts = read_wheel(wheel)
    with tempfile.TemporaryDirectory(prefix="prime-sources-") as scratch:
        project = find_project_of(wheel, facts)
        if project is None:
            project = write_sources_of(wheel, facts, Path(scratch) / "sources")
        yield _checked(project, (wheel, facts), allowed_secrets)


def next_version(release: Release, bump: VersionBump) -> str:
    """The version after the project's own.

    Raises UsageError for a wheel, whose version is in its bytes, and BadProject where the build
    backend computes the version.
    """
    if release.built is not None:
        raise UsageError(
            f"{release.built[0].name} already has a version",
            hint="pass the project's folder to build the next version",
        )
    project = release.project
    if project.version is None:
        raise BadProject(
            f"The version of `{project.name}` is dynamic: its build backend computes it",
            hint="change it at its source, then upload without the flag",
        )
    return _NEXT[bump](project.version)


def write_next_version(release: Release, bump: VersionBump) -> Release:
    """Give the project its next version; raises BadProject where no one line holds it."""
    version = next_version(release, bump)
    project = set_version(release.project, version)
    record_pending(project.root, version)
    return replace(release, project=project, files=list_sources(project.root))


def _checked(
    project: Project, built: tuple[Path, WheelFacts] | None, allowed: tuple[str, ...]
) -> Release:
    files = list_sources(project.root)
    allowed = (*project.allowed_secrets, *allowed)
    check_sources(files, allowed_secrets=allowed)
    return Release(project, files, built, allowed)


_HEADER = re.compile(r"\s*\[\s*([^\[\]]*?)\s*\]\s*(?:#.*)?$")
_VERSION = re.compile(
    r"""(?P<key>\s*(?:project\s*\.\s*)?version\s*=\s*)(?P<quote>["'])[^"']*(?P=quote)"""
)


def set_version(project: Project, version: str) -> Project:
    """Write `version` into the project's pyproject.toml; returns the project as it is then.

    Raises BadProject when no one line holds it, StorageFailed when the file cannot be written.
    """
    with storage_errors(project.file):
        old = project.file.read_bytes()
        mode = project.file.stat().st_mode & 0o777
    new = edit_version(old.decode("utf-8-sig"), version)
    if new is None:
        raise BadProject(
            f"There is no plain `version = …` line below [project] in {project.file}",
            hint=f'write it as `version = "{project.version}"` on a line of its own',
        )
    write_atomically(project.file, _marked(old, new), mode=mode)
    return load_project(project.root)


def edit_version(text: str, version: str) -> str | None:
    """`text` with the version of `[project]` replaced, or None when no one line holds it."""
    wanted = tomllib.loads(text)
    wanted["project"]["version"] = version
    for start, end in _candidates(text):
        edited = f"{text[:start]}{version}{text[end:]}"
        if tomllib.loads(edited) == wanted:
            return edited
    return None


def _marked(old: bytes, new: str) -> bytes:
    """`new` as UTF-8, with the byte order mark that `old` may have begun with."""
    return new.encode("utf-8-sig" if old.startswith(codecs.BOM_UTF8) else "utf-8")


def _candidates(text: str) -> Iterator[tuple[int, int]]:
    """Where the value of the project's `version` may stand: offsets between its quotes."""
    table = ""
    offset = 0
    for line in text.splitlines(keepends=True):
        header = _HEADER.match(line)
        if header:
            table = header[1].strip("\"'")
        found = _VERSION.match(line) if table in ("project", "") else None
        if found:
            yield offset + found.end("quote"), offset + found.end() - 1
        offset += len(line)


def find_project_of(wheel: Path, facts: WheelFacts) -> Project | None:
    """The project that `wheel` was built from, if it lies beside the wheel's folder (`dist/`).

    Name and version must be the wheel's, and every Python file of the wheel must be there with the
    same bytes: an archive of sources that were edited since would not be this version's.
    """
    root = wheel.absolute().parent.parent
    try:
        project = load_project(root)
    except PrimeError:  # the folder is no project, so the wheel stands for itself
        return None
    same_name = normalize_name(project.name) == normalize_name(facts.name)
    same_version = project.version in (facts.version, None)
    return project if same_name and same_version and _has_modules(root, wheel) else None


def write_sources_of(wheel: Path, facts: WheelFacts, folder: Path) -> Project:
    """Make a project in `folder` of what the wheel holds: its files, README and metadata.

    A pyproject.toml in the wheel's root is taken as it is if it names this version; else one is
    written that builds the same modules with hatchling.
    """
    unpack_archive(wheel, folder)
    with storage_errors(folder):
        for path in folder.glob("*.dist-info"):
            shutil.rmtree(path)
        if facts.readme and not (folder / "README.md").exists():
            (folder / "README.md").write_text(facts.readme, encoding="utf-8", newline="\n")
        if not _is_usable(folder, facts):
            content = tomli_w.dumps(_pyproject(facts))
            (folder / FILENAME).write_text(content, encoding="utf-8", newline="\n")
    return load_project(folder)


def _has_modules(root: Path, wheel: Path) -> bool:
    with open_wheel(wheel) as opened, storage_errors(root):
        return all(
            any(_has_bytes(root / folder / path, opened.read(path)) for folder in _SOURCE_FOLDERS)
            for path in opened.members
            if path.endswith(".py")
        )


def _has_bytes(path: Path, content: bytes | None) -> bool:
    return path.is_file() and path.read_bytes() == content


def _is_usable(folder: Path, facts: WheelFacts) -> bool:
    try:
        project = load_project(folder)
    except PrimeError:
        return False
    return (normalize_name(project.name), project.version) == (
        normalize_name(facts.name),
        facts.version,
    )


def _pyproject(facts: WheelFacts) -> dict[str, Any]:
    project: dict[str, Any] = {
        "name": facts.name,
        "version": facts.version,
        "dependencies": [text for text in facts.requires_dist if "extra ==" not in text],
    }
    if facts.summary:
        project["description"] = facts.summary
    if facts.requires_python:
        project["requires-python"] = facts.requires_python
    if facts.readme:
        project["readme"] = "README.md"
    modules = [path for path in facts.members if path.endswith(".py") and "/" not in path]
    packages = [f"{name}/**" for name in facts.top_level if f"{name}.py" not in modules]
    return {
        "build-system": {"requires": ["hatchling"], "build-backend": "hatchling.build"},
        "project": project,
        "tool": {"hatch": {"build": {"targets": {"wheel": {"include": [*modules, *packages]}}}}},
    }
