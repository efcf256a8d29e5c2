"""The sources of a wheel that was built already: the project beside it, else what it holds."""

import shutil
from pathlib import Path
from typing import Any

import tomli_w

from prime_cli.archive.unpack import unpack_archive
from prime_cli.archive.wheels import WheelFacts, open_wheel
from prime_cli.core.errors import PrimeError
from prime_cli.core.paths import storage_errors
from prime_cli.core.refs import normalize_name
from prime_cli.envs.project import Project, load_project
from prime_cli.envs.pyproject import FILENAME

_SOURCE_FOLDERS = (".", "src")


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
