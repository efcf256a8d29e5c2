"""The files of an environment as they are installed, with their digests."""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import IO, BinaryIO

from prime_cli.archive.limits import DEFAULT_LIMITS, MEBIBYTE, ArchiveLimits
from prime_cli.archive.members import read_members
from prime_cli.archive.wheels import installed_path

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
class TreeBuilder:
    """A tree that is being read; what is kept of its files is bounded in all.

    What says how a package was built and installed is left out.
    """

    files: dict[str, FileContent] = field(default_factory=dict)
    kept: int = 0
    largest: int = LARGEST_TEXT

    def add(self, path: str, stream: IO[bytes]) -> None:
        """Read one file, by its path below site-packages."""
        place = _place(path)
        if place is None:
            return
        digest, size, kept = hashlib.sha256(), 0, bytearray()
        while block := stream.read(_BLOCK):
            digest.update(block)
            size += len(block)
            if size <= self.largest:
                kept += block
        is_kept = size <= self.largest and self.kept + size <= _MOST_KEPT
        self.kept += size if is_kept else 0
        content = bytes(kept) if is_kept else None
        self.files[place] = FileContent(digest.hexdigest(), size, content)


def wheel_tree(
    file: BinaryIO, *, largest: int = LARGEST_TEXT, limits: ArchiveLimits = DEFAULT_LIMITS
) -> FileTree:
    """The files of an open wheel, with the contents of those of at most `largest` bytes.

    Raises UnsafeContent, IntegrityError.
    """
    tree = TreeBuilder(largest=largest)
    for member, stream in read_members(file, limits=limits):
        tree.add(installed_path(member.path), stream)
    return tree.files


def _place(path: str) -> str | None:
    """Where a file is in the tree; None for those that say how it was built and installed."""
    matched = _DIST_INFO.fullmatch(path)
    if matched is None:
        return path
    rest = matched["rest"]
    return None if rest in _ABOUT_INSTALLING else f"{matched['name']}.dist-info/{rest}"
