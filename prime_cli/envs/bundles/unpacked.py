"""Bundles unpacked on this machine, and the environments in them."""

import secrets
import shutil
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from packaging.version import InvalidVersion, Version

from prime_cli.core.digests import digest_bytes, digest_file
from prime_cli.core.errors import IntegrityError, UnsafeContent, UsageError
from prime_cli.core.file_locks import mark_in_use
from prime_cli.core.paths import make_folder, storage_errors
from prime_cli.core.progress import Progress, Task
from prime_cli.core.refs import EnvRef
from prime_cli.envs.bundles.archive import DATA, OpenBundle, is_data, open_bundle
from prime_cli.envs.bundles.data import needs_writing, target_folder
from prime_cli.envs.bundles.manifest import (
    BundledData,
    BundledEnvironment,
    BundleManifest,
    BundleMember,
    decode_manifest,
    encode_manifest,
)
from prime_cli.envs.local_store import HubRecord
from prime_cli.runtime.packages import BUNDLES, bundles_folder
from prime_cli.wire.codec import decode

MANIFEST = "bundle.json"


@dataclass(frozen=True)
class UnpackedEnvironment:
    """An environment in the unpacked bundle at `folder`: its exact ref and its files."""

    folder: Path
    ref: EnvRef
    wheel: Path
    wheel_sha256: str
    record: HubRecord
    sources: Path | None = None


def list_unpacked(home: Path) -> Iterator[tuple[Path, BundleManifest]]:
    """The folder and manifest of each unpacked bundle, the last one first; broken ones are not."""
    with storage_errors(home):
        found = list(bundles_folder(home).glob(f"[0-9a-f]*/{MANIFEST}"))
        found.sort(key=lambda path: (-path.stat().st_mtime_ns, path))
    for path in found:
        try:
            yield path.parent, decode_manifest(path.read_bytes())
        except (OSError, IntegrityError):
            continue


def find_unpacked(
    home: Path, ref: EnvRef, *, among: Collection[Path] | None = None
) -> UnpackedEnvironment | None:
    """What `ref` means among unpacked bundles: its version, else the newest, else None.

    `among` are the folders of those that may answer, None for all.
    """
    found: list[tuple[Version, Path, BundledEnvironment]] = []
    for folder, manifest in list_unpacked(home):
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
    return open_unpacked(folder, each)


def open_unpacked(folder: Path, environment: BundledEnvironment) -> UnpackedEnvironment:
    """One environment of an unpacked bundle; raises IntegrityError when its files do not agree."""
    record, wheel = _read_record(folder / environment.record), folder / environment.wheel
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
            f"The parts of {environment.ref} in {folder} are inconsistent",
            hint="install its bundle again",
        )
    sources = folder / environment.sources if environment.sources else None
    return UnpackedEnvironment(folder, ref, wheel, environment.wheel_sha256, record, sources)


def _read_record(path: Path) -> HubRecord:
    with storage_errors(path):
        content = path.read_bytes()
    try:
        return decode(content, HubRecord)
    except UsageError as error:
        raise IntegrityError(f"{path} cannot be read: {error.message}") from error


def _version(ref: EnvRef) -> Version:
    try:
        return Version(ref.version or "0")
    except InvalidVersion:
        return Version("0")


@dataclass(frozen=True)
class UnpackedBundle:
    """A bundle on this machine: its environments, and where its data went."""

    folder: Path
    manifest: BundleManifest
    environments: tuple[UnpackedEnvironment, ...]
    data: tuple[tuple[BundledData, Path], ...] = ()


EnvironmentCheck = Callable[[UnpackedEnvironment], object]
"""Raises for an environment that may not come in."""


def unpack_bundle(
    path: Path,
    home: Path,
    environ: Mapping[str, str],
    progress: Progress,
    *,
    check: EnvironmentCheck = lambda _: None,
) -> UnpackedBundle:
    """Unpack a bundle into `<home>/bundles/<digest>`, with every member's digest compared.

    Its data goes to its `target_folder`. Raises IntegrityError, UnsafeContent, Conflict (other
    data is in the way), StorageFailed, and what `check` does; then nothing is left of it.
    """
    with open_bundle(path) as bundle:
        manifest = bundle.manifest
        digest = digest_bytes(encode_manifest(manifest))[:32]
        folder = bundles_folder(home) / digest
        mark_in_use(home, BUNDLES, digest)
        places = {data.name: target_folder(data, folder / DATA, environ) for data in manifest.data}
        data = [(each, _data_place(each, places)) for each in manifest.members if is_data(each)]
        parts = [each for each in manifest.members if not is_data(each)]
        todo = [(each, place) for each, place in data if needs_writing(place, each)]
        with progress.task(f"Unpacking {path.name}", total=manifest.size, unit="bytes") as task:
            if (folder / MANIFEST).is_file():
                for environment in manifest.environments:
                    check(open_unpacked(folder, environment))
            else:
                _unpack(bundle, parts, folder, task, check)
            for each, place in todo:
                _put(bundle, each, place, task)
    opened = tuple(open_unpacked(folder, each) for each in manifest.environments)
    return UnpackedBundle(
        folder, manifest, opened, tuple((d, places[d.name]) for d in manifest.data)
    )


def _data_place(member: BundleMember, places: Mapping[str, Path]) -> Path:
    _, name, inside = (*member.path.split("/", 2), "")[:3]
    if name not in places or not inside:
        raise UnsafeContent(f"The bundle does not describe {member.path[:120]}")
    return places[name] / inside


def _unpack(
    bundle: OpenBundle,
    parts: Iterable[BundleMember],
    folder: Path,
    task: Task,
    check: EnvironmentCheck,
) -> None:
    make_folder(folder.parent)
    aside = make_folder(folder.with_name(f".{folder.name}.{secrets.token_hex(4)}"))
    try:
        for part in parts:
            bundle.copy(part, aside / part.path, task)
        for each in bundle.manifest.environments:
            check(open_unpacked(aside, each))
        with storage_errors(folder):
            (aside / MANIFEST).write_bytes(encode_manifest(bundle.manifest))
            if folder.exists():  # of an earlier try that was removed halfway
                shutil.rmtree(folder)
            aside.rename(folder)
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def _put(bundle: OpenBundle, member: BundleMember, place: Path, task: Task) -> None:
    """One file of data, which appears when it is whole."""
    with storage_errors(place):
        place.parent.mkdir(parents=True, exist_ok=True)
        aside = place.with_name(f".{place.name}.{secrets.token_hex(4)}")
        try:
            bundle.copy(member, aside, task)
            aside.replace(place)
        finally:
            aside.unlink(missing_ok=True)
