"""`env pull`: the sources of a published environment, as a folder to work in."""

import tempfile
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from prime_cli.core.archive.members import unpack_archive
from prime_cli.core.digests import is_sha256
from prime_cli.core.errors import Conflict, NotFound
from prime_cli.core.paths import home_path, make_folder, storage_errors
from prime_cli.core.progress import Progress
from prime_cli.core.refs import EnvRef, module_name
from prime_cli.envs.lookup import LocatedEnvironment, find_environment
from prime_cli.envs.publish.provenance import read_provenance, write_provenance
from prime_cli.wire.environments import EnvironmentDetail

if TYPE_CHECKING:
    from prime_cli.client.api.client import HubClient


@dataclass(frozen=True)
class PullResult:
    """Where the sources lie now; `ref` has the exact version."""

    ref: EnvRef
    path: Path
    files: tuple[str, ...]
    content_hash: str | None


def pull_sources(
    hub: "HubClient",
    ref: EnvRef,
    *,
    folder: Path,
    target: Path | None,
    home: Path,
    progress: Progress,
) -> PullResult:
    """Download, check and unpack the source archive of `ref`.

    Into `target` if given (merged into what is there), else into a new folder seen from
    `folder`. Raises NotFound, IntegrityError, UnsafeContent, Conflict or StorageFailed; a
    refused archive leaves nothing behind.
    """
    found = find_environment(hub, ref, home=home, progress=progress)
    place = target if target is not None else choose_target_folder(folder, ref.name, progress)
    if place.exists() and not place.is_dir():
        raise Conflict(f"{place} is a file", hint="choose another folder with `--target`")
    files = download_sources(found, place, home=home, progress=progress)
    _record(place, found)
    names = tuple(sorted(path.relative_to(place).as_posix() for path in files))
    return PullResult(found.ref, place, names, found.detail.content_hash)


def download_sources(
    found: LocatedEnvironment, place: Path, *, home: Path, progress: Progress
) -> list[Path]:
    """Unpack the source archive of `found` into `place`; returns the files, raises as above."""
    if found.bundled is not None and found.bundled.sources is not None:
        return unpack_archive(found.bundled.sources, place)
    url = found.detail.tracked_package_url or found.detail.package_url
    if url is None:
        raise NotFound(
            f"{found.ref} has no sources on the hub",
            hint=f"list other versions with `prime env versions {found.ref.slug}`",
        )
    scratch = make_folder(home_path(home, "cache") / "downloads")
    with storage_errors(scratch), tempfile.TemporaryDirectory(dir=scratch) as folder:
        archive = Path(folder) / f"{found.detail.name}.tar.gz"
        found.hub.environments.download(
            url, archive, sha256=archive_digest(found.detail), progress=progress
        )
        return unpack_archive(archive, place)


def choose_target_folder(folder: Path, name: str, progress: Progress) -> Path:
    """`./environments/<module>` where there is an `./environments`, else `./<module>`; with
    `-1`, `-2` and so on where that is taken, as the official client does.
    """
    shared = folder / "environments"
    base = (shared if shared.is_dir() else folder) / module_name(name)
    place, number = base, 0
    while place.exists():
        number += 1
        place = base.with_name(f"{base.name}-{number}")
    if number:
        progress.say(f"{base} already exists, so the sources are written to {place}")
    return place


def archive_digest(detail: EnvironmentDetail) -> str | None:
    """The archive's sha256: `sha256` of the detail, unless a hub puts the content hash there."""
    digest = (detail.sha256 or "").lower()
    if not is_sha256(digest) or digest == detail.content_hash:
        return None
    return digest


def _record(place: Path, found: LocatedEnvironment) -> None:
    detail, ref = found.detail, found.ref
    known = {"owner": ref.owner, "name": ref.name, "environment_id": detail.id}
    write_provenance(
        place,
        {
            **read_provenance(place),
            **known,
            "version": ref.version,
            "origin": detail.metadata.origin or {**known, "version": ref.version},
            "fork_chain": detail.metadata.fork_chain,
            # Local time without a zone, as the official client writes and reads it.
            "pulled_at": datetime.now().isoformat(),  # noqa: DTZ005
        },
    )
