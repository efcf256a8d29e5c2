"""Bring the wheel of a published environment onto this disk, with its digest checked."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import unquote, urlsplit

import msgspec
from packaging.utils import InvalidWheelFilename, parse_wheel_filename

from prime_cli.api.client import HubClient
from prime_cli.archive.wheels import read_wheel
from prime_cli.core.digests import digest_file
from prime_cli.core.errors import IntegrityError, NotFound, Unreachable
from prime_cli.core.paths import make_folder, prime_home, storage_errors
from prime_cli.core.progress import Progress
from prime_cli.core.refs import EnvRef, normalize_name
from prime_cli.envs import records
from prime_cli.envs.index_links import IndexLink, parse_links
from prime_cli.envs.lookup import Found, find_environment
from prime_cli.envs.records import Record
from prime_cli.runtime.packages import WheelPackage
from prime_cli.wire.environments import EnvironmentDetail, VersionSummary
from prime_cli.wire.locks import Lock

_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class FetchedEnvironment:
    """An environment on this disk; `ref` has its exact version, `lock` is the hub's, if any."""

    ref: EnvRef
    detail: EnvironmentDetail
    package: WheelPackage
    lock: Lock | None


def fetch_wheel(
    hub: HubClient,
    ref: EnvRef,
    *,
    progress: Progress,
    offline: bool = False,
    home: Path | None = None,
) -> FetchedEnvironment:
    """The wheel of `ref`, in `<home>/wheels/<sha256>/<its real name>`; downloaded at most once.

    Reads through to the hub's upstream, and works offline for what was fetched before. Raises
    NotFound, Unreachable, NotAllowed, IntegrityError (bytes other than promised) or
    UnsafeContent.
    """
    home = home or prime_home()
    found = find_environment(hub, ref, home=home, progress=progress, offline=offline)
    link = _find_link(found)
    path = _obtain(found.hub, link, home / "wheels", progress)
    record = found.record or _make_record(found, link, path)
    if not (found.record or found.hub.in_process):
        records.save(home, found.hub.host, record, newest=ref.version is None)
    package = WheelPackage(path, path.parent.name, read_wheel(path), _moment(record.published))
    return FetchedEnvironment(found.ref, record.detail, package, record.lock)


def _make_record(found: Found, link: IndexLink, path: Path) -> Record:
    detail = msgspec.structs.replace(
        found.detail, wheel_sha256=path.parent.name, wheel_filename=path.name, wheel_url=link.url
    )
    lock = found.hub.locks.get(found.ref) if detail.has_lock else None
    return Record(detail, _publication_time(found), lock)


def _find_link(found: Found) -> IndexLink:
    """Where the wheel is and what its sha256 is: from the detail, else from the hub's index."""
    detail = found.detail
    filename = detail.wheel_filename or _last_part(detail.wheel_url)
    named = detail.wheel_sha256
    if detail.wheel_url and named:
        return IndexLink(detail.wheel_url, filename, _checked_digest(named))
    listed = _look_up(found)
    if detail.wheel_url:
        digests = [link.sha256 for link in listed if link.filename == filename]
        return IndexLink(detail.wheel_url, filename, digests[0] if digests else None)
    for link in listed:
        if _is_version(link.filename, detail.semantic_version):
            return link
    raise NotFound(
        f"{found.ref} has no wheel on the hub",
        hint=f"fetch its sources with `prime env pull {found.ref}` and use that folder",
    )


def _look_up(found: Found) -> list[IndexLink]:
    """The environment's page in the hub's simple index; empty where there is none."""
    root = found.detail.install_index_url or found.detail.simple_index_url
    if root is None or found.record is not None:
        return []
    page = f"{root.rstrip('/')}/{normalize_name(found.detail.name)}/"
    try:
        return parse_links(*found.hub.environments.index_page(page))
    except NotFound:
        return []


def _obtain(hub: HubClient, link: IndexLink, wheels: Path, progress: Progress) -> Path:
    """The wheel's file, from the cache when its bytes still have the promised digest."""
    if link.sha256 is None:
        return _download_unnamed(hub, link, wheels, progress)
    path = wheels / link.sha256 / _safe_filename(link.filename)
    with storage_errors(path):
        if path.is_file() and digest_file(path) == link.sha256:
            return path
    hub.environments.download(link.url, path, sha256=link.sha256, progress=progress)
    return path


def _download_unnamed(hub: HubClient, link: IndexLink, wheels: Path, progress: Progress) -> Path:
    """Download a wheel whose digest nobody tells; it is kept under the one that it has."""
    filename = _safe_filename(link.filename)
    progress.warn(f"The hub tells no sha256 for {filename}, so its bytes are taken as they come")
    arrived = wheels / "unnamed" / filename
    sha256 = hub.environments.download(link.url, arrived, sha256=None, progress=progress)
    path = make_folder(wheels / sha256) / filename
    with storage_errors(path):
        arrived.replace(path)
    return path


def _publication_time(found: Found) -> str | None:
    """When this version appeared; the hub tells it of the newest, else in the list of versions."""
    detail = found.detail
    newest = detail.latest_version
    if isinstance(newest, VersionSummary) and newest.semantic_version == detail.semantic_version:
        return newest.created_at
    try:
        versions = found.hub.environments.versions(found.ref)
    except (NotFound, Unreachable):
        return None
    dates = (row.created_at for row in versions if row.version == detail.semantic_version)
    return next(dates, None)


def _moment(text: str | None) -> datetime | None:
    """An ISO 8601 time; one without a zone is UTC."""
    try:
        moment = datetime.fromisoformat(text or "")
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _is_version(filename: str, version: str | None) -> bool:
    try:
        _, found, _, _ = parse_wheel_filename(filename)
    except InvalidWheelFilename:
        return False
    return version is None or str(found) == version


def _last_part(url: str | None) -> str:
    return unquote(urlsplit(url or "").path.rpartition("/")[2])


def _checked_digest(text: str) -> str:
    digest = text.lower()
    if not _SHA256.fullmatch(digest):
        raise IntegrityError(f"The hub names `{text[:80]}` as a sha256, which it is not")
    return digest


def _safe_filename(name: str) -> str:
    """`name` if it is that of a wheel, and so no path; raises IntegrityError else."""
    try:
        parse_wheel_filename(name)
    except InvalidWheelFilename as error:
        raise IntegrityError(f"The hub names `{name[:80]}` as a wheel: {error}") from error
    if "/" in name or "\\" in name:
        raise IntegrityError(f"The hub names `{name[:80]}` as a wheel, which is a path")
    return name
