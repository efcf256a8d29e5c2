"""What `$PRIME_HOME` holds and can be recreated, as entries of a few kinds.

The hub's own files, settings, keys and bug reports are not part of the cache.
"""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from prime_cli.core.file_locks import last_used, use_file
from prime_cli.core.paths import home_path
from prime_cli.runtime.packages import BUNDLES

_DIGEST = 32
_SHA256 = 64


class CacheKind(StrEnum):
    """What an entry is."""

    INTERPRETERS = "interpreters"
    ENGINES = "engines"
    WHEELS = "wheels"
    LOCKS = "locks"
    BUNDLES = "bundles"
    RECORDS = "records"
    CONFIGURATIONS = "configurations"
    RESPONSES = "responses"
    SANDBOX = "sandbox"
    BUILDS = "builds"


DESCRIPTIONS = {
    CacheKind.INTERPRETERS: "virtual environments of environments",
    CacheKind.ENGINES: "virtual environments that serve and train models, and built-in weights",
    CacheKind.WHEELS: "downloaded and built wheels",
    CacheKind.LOCKS: "package locks of environments",
    CacheKind.BUNDLES: "contents of bundles",
    CacheKind.RECORDS: "hub records of downloaded environments",
    CacheKind.CONFIGURATIONS: "flags of v1 environments, for `prime eval run ENV --help`",
    CacheKind.RESPONSES: "model responses saved by `--cache`",
    CacheKind.SANDBOX: "data of sandboxed environments",
    CacheKind.BUILDS: "leftovers of builds, downloads and checks",
}

KEPT_BY_DEFAULT = frozenset({CacheKind.LOCKS, CacheKind.BUNDLES})
"""Kinds that are removed only by name: no network may give the same again."""


@dataclass(frozen=True)
class CacheEntry:
    """One thing that is kept: `used` is seconds since 1970, `size` bytes on the disk."""

    kind: CacheKind
    name: str
    path: Path
    size: int
    used: float


def list_entries(
    home: Path, kinds: frozenset[CacheKind] = frozenset(CacheKind)
) -> Iterator[CacheEntry]:
    """Everything of these kinds, in the order of kinds and names."""
    root = home_path(home, "cache").parent
    for kind in CacheKind:
        if kind in kinds:
            for path in sorted(_PLACES[kind](home)):
                name = path.relative_to(root).as_posix()
                yield CacheEntry(kind, name, path, size_of(path), _used(home, kind, path))


def use_file_of(home: Path, entry: CacheEntry) -> Path:
    """The file whose lock says that a process uses the entry."""
    return use_file(home, entry.kind, _digest_in(entry.path.name))


def _digest_in(name: str) -> str:
    """`ab12` of `.ab12.3f.tmp`, as what is in the making is called after what it will be."""
    return name.lstrip(".").split(".")[0]


def size_of(path: Path) -> int:
    """Bytes of a file, or of all that is below a folder; what several links share counts once."""
    if not path.is_dir() or path.is_symlink():
        return _file_size(path)
    seen: set[tuple[int, int]] = set()
    total = 0
    for folder, _, files in os.walk(path):
        for name in files:
            try:
                status = (Path(folder) / name).lstat()
            except OSError:
                continue
            if (status.st_dev, status.st_ino) not in seen:
                seen.add((status.st_dev, status.st_ino))
                total += status.st_size
    return total


def _file_size(path: Path) -> int:
    try:
        return path.lstat().st_size
    except OSError:
        return 0


def _used(home: Path, kind: CacheKind, path: Path) -> float:
    told = last_used(use_file(home, kind, _digest_in(path.name)))
    try:
        changed = path.lstat().st_mtime
    except OSError:
        changed = 0.0
    return max(told or 0.0, changed)


def _named(folder: str, length: int) -> Callable[[Path], Iterator[Path]]:
    """Folders called by a digest of that many hex digits, and what a crash left beside them."""

    def find(home: Path) -> Iterator[Path]:
        for path in _children(home_path(home, folder)):
            digest = _digest_in(path.name)
            if len(digest) == length and all(c in "0123456789abcdef" for c in digest):
                yield path

    return find


def _engines(home: Path) -> Iterator[Path]:
    # Beside them are locks, and the logs of running ones.
    yield from (path for path in _children(home_path(home, "engines")) if path.is_dir())


def _wheels(home: Path) -> Iterator[Path]:
    yield from _named("wheels", _SHA256)(home)
    # What a download without a promised digest left.
    yield from (
        path for path in _children(home_path(home, "wheels")) if path.name.startswith("tmp")
    )


def _files(folder: str, pattern: str) -> Callable[[Path], Iterator[Path]]:
    def find(home: Path) -> Iterator[Path]:
        root = home_path(home, folder)
        inside = root.resolve()
        for path in root.glob(pattern):
            # A link may lead to what is no cache.
            if path.is_file() and path.parent.resolve().is_relative_to(inside):
                yield path

    return find


def _builds(home: Path) -> Iterator[Path]:
    for folder in ("builds", "downloads", "sdists", "checks"):
        yield from _children(home_path(home, "cache") / folder)


def _children(folder: Path) -> Iterator[Path]:
    try:
        yield from folder.iterdir()
    except OSError:
        return


_PLACES: dict[CacheKind, Callable[[Path], Iterator[Path]]] = {
    CacheKind.INTERPRETERS: _named("interpreters", _DIGEST),
    CacheKind.ENGINES: _engines,
    CacheKind.WHEELS: _wheels,
    CacheKind.LOCKS: _files("locks", "*.json"),
    CacheKind.BUNDLES: _named(BUNDLES, _DIGEST),
    CacheKind.RECORDS: _files("cache/environments", "**/*.json"),
    CacheKind.CONFIGURATIONS: _files("cache/configurations", "*/*.json"),
    CacheKind.RESPONSES: _files("cache/responses", "*/*"),
    CacheKind.SANDBOX: _named("sandbox", _DIGEST),
    CacheKind.BUILDS: _builds,
}
