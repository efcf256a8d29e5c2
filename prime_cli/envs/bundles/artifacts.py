"""Where the files of locked packages are: asked of uv, as the PEP 751 file that it writes."""

import tempfile
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit
from urllib.request import url2pathname

from packaging.markers import InvalidMarker, Marker

from prime_cli.core.errors import ResolveFailed
from prime_cli.core.refs import normalize_name
from prime_cli.runtime.locks import requirements_text
from prime_cli.runtime.pythons import choose_python
from prime_cli.runtime.uv_tool import network_failure, run_uv
from prime_cli.wire.locks import Lock, LockedPackage


@dataclass(frozen=True)
class Artifact:
    """A file of a package on its index: a wheel or, with `is_source`, a source archive.

    `size` in bytes is None if the index does not state it.
    """

    name: str
    version: str
    filename: str
    url: str
    sha256: str
    size: int | None = None
    is_source: bool = False

    @property
    def local(self) -> Path | None:
        """The file, where it is one of this machine."""
        parts = urlsplit(self.url)
        return Path(url2pathname(parts.path)) if parts.scheme == "file" else None


def list_artifacts(lock: Lock, *, offline: bool) -> dict[str, list[Artifact]]:
    """The files of every package of `lock` by its name, those alone whose digest the lock names.

    Raises ResolveFailed for what comes from a repository or has no digest, Unreachable, Offline.
    """
    _refuse_what_has_no_wheel(lock)
    with tempfile.TemporaryDirectory(prefix="prime-bundle-") as name:
        folder = Path(name)
        listed = folder / "locked.txt"
        listed.write_text(requirements_text(lock.packages), encoding="utf-8", newline="\n")
        words = ["pip", "compile", str(listed), "--no-deps", "--universal", "--quiet"]
        words += ["--python", str(choose_python(None).path), "--python-version", lock.python]
        words += ["--format", "pylock.toml", "--no-header", "--no-annotate"]
        completed = run_uv(words, offline=offline, cwd=folder)
    if not completed.ok:
        raise network_failure(completed, offline=offline) or ResolveFailed(
            "The package index lacks the locked packages", detail=completed.last_lines()
        )
    found: dict[str, list[Artifact]] = {package.name: [] for package in lock.packages}
    for artifact in _read(completed.out):
        locked = _packages(lock.packages, artifact.name)
        if any(artifact.sha256 in package.sha256 for package in locked):
            found[artifact.name].append(artifact)
    return found


def _packages(packages: Iterable[LockedPackage], name: str) -> list[LockedPackage]:
    return [package for package in packages if package.name == name]


def _refuse_what_has_no_wheel(lock: Lock) -> None:
    for package in lock.packages:
        if package.source is not None:
            raise ResolveFailed(
                f"{package.name} comes from {package.source}; bundles support only "
                "packages from an index",
                hint="make the environment require a released version",
            )
        if not package.sha256:
            raise ResolveFailed(f"The lock has no digest for {package.name} {package.version}")


def _read(text: str) -> Iterable[Artifact]:
    for package in tomllib.loads(text).get("packages", []):
        yield from _files(package, package.get("wheels", []), is_source=False)
        yield from _files(package, filter(None, [package.get("sdist")]), is_source=True)


def _files(
    package: Mapping[str, Any], files: Iterable[Mapping[str, Any]], *, is_source: bool
) -> Iterable[Artifact]:
    for file in files:
        url = file.get("url") or Path(file.get("path", "")).absolute().as_uri()
        yield Artifact(
            name=normalize_name(package["name"]),
            version=package.get("version", ""),
            filename=file.get("name") or unquote(urlsplit(url).path.rpartition("/")[2]),
            url=url,
            sha256=file.get("hashes", {}).get("sha256", ""),
            size=file.get("size"),
            is_source=is_source,
        )


def covers_platform(lock: Lock, sys_platform: str) -> bool:
    """Whether the lock was made for that system too: one for a single system marks every package.

    See `Resolved`: such a lock names this machine's system in all its markers.
    """
    alone = {f"sys_platform == '{sys_platform}'"}
    said = {_normal(package.marker) for package in lock.packages}
    single = len(said) == 1 and next(iter(said), "").startswith("sys_platform ==")
    return not single or said == alone


def _normal(marker: str | None) -> str:
    try:
        return str(Marker(marker)).replace('"', "'") if marker else ""
    except InvalidMarker:
        return ""
