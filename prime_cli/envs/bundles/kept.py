"""Bundles that were unpacked on this machine, and the environments in them."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from packaging.version import InvalidVersion, Version

from prime_cli.core.digests import digest_file
from prime_cli.core.errors import IntegrityError, UsageError
from prime_cli.core.file_locks import mark_in_use
from prime_cli.core.paths import storage_errors
from prime_cli.core.refs import EnvRef
from prime_cli.envs.bundles.manifest import BundledEnvironment, Manifest, decode_manifest
from prime_cli.envs.records import Record
from prime_cli.runtime.bundled import BUNDLES, bundles_folder
from prime_cli.wire.codec import decode

MANIFEST = "bundle.json"


@dataclass(frozen=True)
class Bundled:
    """An environment in the unpacked bundle at `folder`: its exact ref and its files."""

    folder: Path
    ref: EnvRef
    wheel: Path
    wheel_sha256: str
    record: Record
    sources: Path | None = None


def list_bundles(home: Path) -> Iterator[tuple[Path, Manifest]]:
    """The folder and manifest of each unpacked bundle, the last one first; broken ones are not."""
    with storage_errors(home):
        found = list(bundles_folder(home).glob(f"[0-9a-f]*/{MANIFEST}"))
        found.sort(key=lambda path: (-path.stat().st_mtime_ns, path))
    for path in found:
        try:
            yield path.parent, decode_manifest(path.read_bytes())
        except (OSError, IntegrityError):
            continue


def find_bundled(
    home: Path, ref: EnvRef, *, among: Collection[Path] | None = None
) -> Bundled | None:
    """What `ref` means among unpacked bundles: its version, else the newest, else None.

    `among` are the folders of those that may answer, None for all.
    """
    found: list[tuple[Version, Path, BundledEnvironment]] = []
    for folder, manifest in list_bundles(home):
        if among is not None and folder not in among:
            continue
        for each in manifest.environments:
            kept = EnvRef.parse(each.ref)
            if kept.is_same(ref) and ref.version in (None, kept.version):
                found.append((_version(kept), folder, each))
    if not found:
        return None
    _, folder, each = max(found, key=lambda one: one[0])
    mark_in_use(home, BUNDLES, folder.name)
    return open_bundled(folder, each)


def open_bundled(folder: Path, environment: BundledEnvironment) -> Bundled:
    """One environment of an unpacked bundle; raises IntegrityError when its files do not agree."""
    record, wheel = _record(folder / environment.record), folder / environment.wheel
    ref = EnvRef.parse(environment.ref)
    detail = record.detail
    told = EnvRef(detail.owner.name, detail.name, detail.semantic_version)
    digests = {environment.wheel_sha256, detail.wheel_sha256}
    if record.lock is not None:
        digests.add(record.lock.wheel_sha256)
    with storage_errors(wheel):
        digests.add(digest_file(wheel))
    if told != ref or len(digests) > 1:
        raise IntegrityError(
            f"The parts of {environment.ref} in {folder} do not belong together",
            hint="install its bundle again",
        )
    sources = folder / environment.sources if environment.sources else None
    return Bundled(folder, ref, wheel, environment.wheel_sha256, record, sources)


def _record(path: Path) -> Record:
    with storage_errors(path):
        content = path.read_bytes()
    try:
        return decode(content, Record)
    except UsageError as error:
        raise IntegrityError(f"{path} cannot be read: {error.message}") from error


def _version(ref: EnvRef) -> Version:
    try:
        return Version(ref.version or "0")
    except InvalidVersion:
        return Version("0")
