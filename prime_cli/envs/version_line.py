"""Change the version in a pyproject.toml, and nothing else of it."""

import codecs
import re
import tomllib
from collections.abc import Iterator

from prime_cli.core.errors import BadProject
from prime_cli.core.paths import storage_errors, write_atomically
from prime_cli.envs.project import Project, load_project

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
