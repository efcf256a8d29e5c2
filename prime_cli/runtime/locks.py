"""Record what an isolated interpreter holds, and turn that back into uv's input."""

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from packaging.requirements import Requirement

from prime_cli.core.digests import digest_bytes
from prime_cli.core.errors import UsageError
from prime_cli.core.paths import home_path, storage_errors, write_atomically
from prime_cli.core.refs import normalize_name
from prime_cli.runtime.sources import without_credentials
from prime_cli.wire.codec import decode, encode
from prime_cli.wire.locks import Lock, LockedPackage

SCHEMA = 1

_NAME = re.compile(r"[A-Za-z0-9]")
_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")
_PINNED = re.compile(r"^([A-Za-z0-9._-]+)(?:\[[^\]]*\])?==(\S+?)\s*(?:;\s*(.+?))?$")
_BY_URL = re.compile(r"^[A-Za-z0-9._-]+(?:\[[^\]]*\])?\s*@\s")


def lock_path(home: Path, wheel_sha256: str, variant: str = "") -> Path:
    """The path of a wheel's lock; `variant` distinguishes the user's flags."""
    suffix = f"-{digest_bytes(variant.encode())[:12]}" if variant else ""
    return home_path(home, "locks") / f"{wheel_sha256}{suffix}.json"


def load_lock(home: Path, wheel_sha256: str, variant: str = "") -> Lock | None:
    """The recorded lock of a wheel, or None if missing or unreadable."""
    path = lock_path(home, wheel_sha256, variant)
    with storage_errors(path):
        try:
            content = path.read_bytes()
        except FileNotFoundError:
            return None
    try:
        lock = decode(content, Lock)
    except UsageError:
        # It only records a search, which can be repeated.
        return None
    return lock if lock.schema == SCHEMA else None


def save_lock(home: Path, lock: Lock, variant: str = "") -> Path:
    """Store `lock` under its wheel's digest; raises StorageFailed."""
    path = lock_path(home, lock.wheel_sha256, variant)
    write_atomically(path, encode(lock))
    return path


def lock_digest(lock: Lock) -> str:
    """The identity of what a lock installs: of its packages only, not of how it was found."""
    return digest_bytes(encode(sorted(lock.packages, key=lambda p: (p.name, p.version))))


def requirements_text(packages: Sequence[LockedPackage]) -> str:
    """`packages` as a requirements file; with hashes only if every one is pinned.

    A git commit is its own digest; uv still verifies the hashes of the other packages. Raises
    UsageError for one whose name or version is more than that: locks are not trusted.
    """
    hashed = all(package.sha256 or package.source for package in packages)
    return "".join(f"{line}\n" for line in _requirement_lines(packages, hashed=hashed))


def is_requirement(line: str) -> bool:
    """Whether a line of a requirements file is no option of uv, such as another index."""
    return _NAME.match(line) is not None and line.isprintable()


def is_complete(lock: Lock) -> bool:
    """Whether the digest of every package is known."""
    return all(package.sha256 for package in lock.packages)


def read_requirements_file(text: str, without: Iterable[str] = ()) -> tuple[LockedPackage, ...]:
    """The packages that uv wrote into a requirements file.

    `without` are names to leave out: the wheel itself.
    """
    left_out = {normalize_name(name) for name in without}
    packages: list[LockedPackage] = []
    for line in _logical_lines(text):
        digests = tuple(sorted(_HASH.findall(line)))
        plain = _HASH.sub("", line).strip()
        pinned = _PINNED.match(plain)
        if pinned:
            name, version, marker = normalize_name(pinned[1]), pinned[2], pinned[3]
            packages.append(LockedPackage(name, version, marker, digests))
        elif _BY_URL.match(plain):
            packages.append(_by_url(Requirement(plain), digests))
    return tuple(package for package in packages if package.name not in left_out)


def _by_url(requirement: Requirement, digests: tuple[str, ...]) -> LockedPackage:
    return LockedPackage(
        name=normalize_name(requirement.name),
        version="",
        marker=str(requirement.marker) if requirement.marker else None,
        sha256=digests,
        source=without_credentials(requirement.url or ""),
    )


def _requirement_lines(packages: Iterable[LockedPackage], *, hashed: bool) -> Iterator[str]:
    for package in packages:
        pin = f" @ {package.source}" if package.source else f"=={package.version}"
        line = f"{package.name}{pin}"
        if package.marker:
            line += f" ; {package.marker}"
        if not is_requirement(line):
            raise UsageError(f"A lock has no package called {package.name[:80]!r}")
        if hashed:
            line += "".join(f" --hash=sha256:{digest}" for digest in package.sha256)
        yield line


def _logical_lines(text: str) -> Iterator[str]:
    for line in text.replace("\\\n", " ").splitlines():
        stripped = line.strip()
        if stripped and not stripped.startswith("#"):
            yield stripped
