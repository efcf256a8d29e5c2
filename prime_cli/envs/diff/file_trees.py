"""The files of an environment as they are installed, read from a wheel or from site-packages."""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from prime_cli.archive.limits import DEFAULT_LIMITS, MEBIBYTE, ArchiveLimits
from prime_cli.archive.members import read_members
from prime_cli.archive.wheels import installed_path
from prime_cli.core.errors import IntegrityError
from prime_cli.core.paths import storage_errors
from prime_cli.envs.install.installed import InstalledPackage, recorded_files

LARGEST_TEXT = MEBIBYTE
"""A file above this is compared by its digest alone."""

_MOST_KEPT = 64 * MEBIBYTE
_BLOCK = 1 << 20
_DIST_INFO = re.compile(r"(?P<name>[^/]+?)-[^/-]+\.dist-info/(?P<rest>.+)")
_ABOUT_INSTALLING = frozenset(
    {"RECORD", "WHEEL", "INSTALLER", "REQUESTED", "direct_url.json", "prime.json", "uv_cache.json"}
)


@dataclass(frozen=True)
class FileContent:
    """One file: its digest and size; `content` is None if it is too large to show."""

    sha256: str
    size: int
    content: bytes | None = None


FileTree = Mapping[str, FileContent]
"""Files by POSIX path below site-packages; that of `*.dist-info` is without its version."""


@dataclass
class _TreeBuilder:
    """A tree that is being read; what is kept of its files is bounded in all."""

    files: dict[str, FileContent] = field(default_factory=dict)
    kept: int = 0

    def add(self, path: str, stream: IO[bytes]) -> None:
        digest, size, kept = hashlib.sha256(), 0, bytearray()
        while block := stream.read(_BLOCK):
            digest.update(block)
            size += len(block)
            if size <= LARGEST_TEXT:
                kept += block
        is_kept = size <= LARGEST_TEXT and self.kept + size <= _MOST_KEPT
        self.kept += size if is_kept else 0
        content = bytes(kept) if is_kept else None
        self.files[path] = FileContent(digest.hexdigest(), size, content)


def wheel_tree(path: Path, *, limits: ArchiveLimits = DEFAULT_LIMITS) -> FileTree:
    """The files of the wheel at `path`; raises UnsafeContent, IntegrityError, StorageFailed."""
    tree = _TreeBuilder()
    with storage_errors(path), path.open("rb") as file:
        for member, stream in read_members(file, limits=limits):
            place = _place(installed_path(member.path))
            if place is not None:
                tree.add(place, stream)
    return tree.files


def installed_tree(package: InstalledPackage) -> FileTree:
    """The files of an installed package, by its RECORD; what is missing is left out.

    Raises IntegrityError for a package without a RECORD.
    """
    recorded = recorded_files(package)
    if recorded is None:
        raise IntegrityError(
            f"{package.folder} has no RECORD, so its files are unknown",
            hint=f"reinstall it with `prime env install {package.name}`",
        )
    tree = _TreeBuilder()
    for path, _ in recorded:
        place, file = _place(path), package.folder.parent / path
        if place is not None and not path.endswith(".pyc") and file.is_file():
            with storage_errors(file), file.open("rb") as stream:
                tree.add(place, stream)
    return tree.files


def _place(path: str) -> str | None:
    """Where a file is in the tree; None for those that say how it was built and installed."""
    matched = _DIST_INFO.fullmatch(path)
    if matched is None:
        return path
    rest = matched["rest"]
    return None if rest in _ABOUT_INSTALLING else f"{matched['name']}.dist-info/{rest}"
