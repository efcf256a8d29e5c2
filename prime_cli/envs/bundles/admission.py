"""Put a bundle's parts where they are found without a network; all of them, or none."""

import secrets
import shutil
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from prime_cli.core.digests import digest_bytes
from prime_cli.core.errors import UnsafeContent
from prime_cli.core.file_locks import mark_in_use
from prime_cli.core.paths import make_folder, storage_errors
from prime_cli.core.progress import Progress, Task
from prime_cli.envs.bundles.data import check_place, place_of
from prime_cli.envs.bundles.kept import MANIFEST, Bundled, open_bundled
from prime_cli.envs.bundles.manifest import BundledData, Manifest, Member, encode_manifest
from prime_cli.envs.bundles.reading import DATA, OpenBundle, is_data, open_bundle
from prime_cli.runtime.bundled import BUNDLES, bundles_folder


@dataclass(frozen=True)
class Admitted:
    """A bundle on this machine: its environments, and where its data went."""

    folder: Path
    manifest: Manifest
    environments: tuple[Bundled, ...]
    data: tuple[tuple[BundledData, Path], ...] = ()


Check = Callable[[Bundled], object]
"""Raises for an environment that may not come in."""


def admit_bundle(
    path: Path,
    home: Path,
    environ: Mapping[str, str],
    progress: Progress,
    *,
    check: Check = lambda _: None,
) -> Admitted:
    """Unpack a bundle into `<home>/bundles/<digest>`, with every member's digest compared.

    Its data goes to where `place_of` says. Raises IntegrityError, UnsafeContent, Conflict (other
    data is in the way), StorageFailed, and what `check` does; then nothing is left of it.
    """
    with open_bundle(path) as bundle:
        manifest = bundle.manifest
        digest = digest_bytes(encode_manifest(manifest))[:32]
        folder = bundles_folder(home) / digest
        mark_in_use(home, BUNDLES, digest)
        places = {data.name: place_of(data, folder / DATA, environ) for data in manifest.data}
        data = [(each, _data_place(each, places)) for each in manifest.members if is_data(each)]
        parts = [each for each in manifest.members if not is_data(each)]
        todo = [(each, place) for each, place in data if check_place(place, each)]
        with progress.task(f"Unpacking {path.name}", total=manifest.size, unit="bytes") as task:
            if (folder / MANIFEST).is_file():
                for environment in manifest.environments:
                    check(open_bundled(folder, environment))
            else:
                _unpack(bundle, parts, folder, task, check)
            for each, place in todo:
                _put(bundle, each, place, task)
    opened = tuple(open_bundled(folder, each) for each in manifest.environments)
    return Admitted(folder, manifest, opened, tuple((d, places[d.name]) for d in manifest.data))


def _data_place(member: Member, places: Mapping[str, Path]) -> Path:
    _, name, inside = (*member.path.split("/", 2), "")[:3]
    if name not in places or not inside:
        raise UnsafeContent(f"The bundle does not say what {member.path[:120]} is")
    return places[name] / inside


def _unpack(
    bundle: OpenBundle, parts: Iterable[Member], folder: Path, task: Task, check: Check
) -> None:
    make_folder(folder.parent)
    aside = make_folder(folder.with_name(f".{folder.name}.{secrets.token_hex(4)}"))
    try:
        for part in parts:
            bundle.copy(part, aside / part.path, task)
        for each in bundle.manifest.environments:
            check(open_bundled(aside, each))
        with storage_errors(folder):
            (aside / MANIFEST).write_bytes(encode_manifest(bundle.manifest))
            if folder.exists():  # of an earlier try that was removed halfway
                shutil.rmtree(folder)
            aside.rename(folder)
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def _put(bundle: OpenBundle, member: Member, place: Path, task: Task) -> None:
    """One file of data, which appears when it is whole."""
    with storage_errors(place):
        place.parent.mkdir(parents=True, exist_ok=True)
        aside = place.with_name(f".{place.name}.{secrets.token_hex(4)}")
        try:
            bundle.copy(member, aside, task)
            aside.replace(place)
        finally:
            aside.unlink(missing_ok=True)
