"""`/environmentshub`: environments, their versions, and publishing."""

import hashlib
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import msgspec

from prime_cli.client.api.connection import HubConnection
from prime_cli.client.api.transports import host_of
from prime_cli.core.errors import IntegrityError, NotFound, TooLarge, UsageError
from prime_cli.core.paths import make_folder, storage_errors
from prime_cli.core.progress import Progress
from prime_cli.core.refs import EnvRef
from prime_cli.wire.environment_sources import DEFAULT_INSPECT_BYTES, Inspection
from prime_cli.wire.environments import (
    ArtifactRequest,
    EnvironmentDetail,
    EnvironmentItem,
    EnvironmentPage,
    EnvironmentQuery,
    EnvironmentStatus,
    FinalizeReply,
    ForkReply,
    ForkRequest,
    ResolveReply,
    ResolveRequest,
    VersionItem,
    VersionTicket,
    WheelTicket,
    YankReply,
    YankRequest,
)
from prime_cli.wire.queries import require_features, write_query
from prime_cli.wire.version_documents import D, DocumentKind

ROOT = "/environmentshub"
_BLOCK = 1 << 16

# Below, `list` is a method.
_Items = list[EnvironmentItem]
_Versions = list[VersionItem]


def environment_path(ref: EnvRef) -> str:
    """The route of an environment, whatever its version."""
    return f"{ROOT}/{quote(ref.owner)}/{quote(ref.name)}"


def version_path(ref: EnvRef) -> str:
    """The route of one version: `…/@1.2`, or `…/@latest`."""
    return f"{environment_path(ref)}/@{quote(ref.wire_version)}"


class Environments:
    """A hub's environments; every method raises NotFound for a missing one."""

    def __init__(self, connection: HubConnection, features: Callable[[], Sequence[str]]) -> None:
        self._connection = connection
        self._features = features

    def list(self, query: EnvironmentQuery = EnvironmentQuery()) -> EnvironmentPage:
        """One page of environments; raises UsageError for a filter that the hub does not know."""
        require_features(query, host_of(self._connection.base_url), self._features)
        answer = self._connection.call(
            "GET", f"{ROOT}/", query={"include_teams": "true", **write_query(query)}
        )
        body = answer.body
        rows = body.get("data", body.get("environments", []))
        return EnvironmentPage(
            data=answer.convert(rows, _Items),
            total_count=answer.convert(body.get("total_count", body.get("total", 0)), int),
        )

    def get(self, ref: EnvRef) -> EnvironmentDetail:
        """Everything about one version."""
        answer = self._connection.call("GET", version_path(ref))
        return answer.convert(_named_version(answer.read(dict)), EnvironmentDetail)

    def status(self, ref: EnvRef) -> EnvironmentStatus:
        """The newest version, in short."""
        answer = self._connection.call("GET", f"{environment_path(ref)}/status")
        return answer.read(EnvironmentStatus)

    def versions(self, ref: EnvRef) -> _Versions:
        """Every finalised version, newest first."""
        answer = self._connection.call("GET", f"{environment_path(ref)}/versions")
        inner = answer.read(object)
        rows = inner.get("versions", []) if isinstance(inner, dict) else inner
        return answer.convert(rows, _Versions)

    def inspect(
        self, ref: EnvRef, path: str | None = None, max_bytes: int = DEFAULT_INSPECT_BYTES
    ) -> Inspection:
        """A folder's entries or a file's first `max_bytes` bytes, out of the source archive."""
        answer = self._connection.call(
            "GET", f"{version_path(ref)}/inspect", query={"max_bytes": max_bytes, "path": path}
        )
        return answer.read(Inspection)

    def delete(self, ref: EnvRef) -> None:
        """Delete an environment with all its versions."""
        self._connection.call("DELETE", environment_path(ref))

    def delete_version(self, ref: EnvRef, content_hash: str) -> None:
        """Delete the version with this content hash, or a prefix of at least 8 characters."""
        self._connection.call("DELETE", f"{environment_path(ref)}/@{quote(content_hash)}")

    def fork(self, ref: EnvRef, request: ForkRequest) -> ForkReply:
        """Copy the newest version to the caller or a team; raises Conflict if the name is taken."""
        answer = self._connection.call("POST", f"{environment_path(ref)}/fork", body=request)
        return answer.read(ForkReply)

    def set_star(self, ref: EnvRef, *, starred: bool) -> None:
        """Star or unstar an environment; again is the same."""
        self._require("star", "stars")
        method = "PUT" if starred else "DELETE"
        self._connection.call(method, f"{environment_path(ref)}/star", repeatable=True)

    def yank(self, ref: EnvRef, reason: str) -> YankReply:
        """Have installers skip a version unless it is pinned; raises NotAllowed."""
        self._require("yank", "yanked versions")
        body = YankRequest(reason)
        answer = self._connection.call("POST", f"{version_path(ref)}/yank", body=body)
        return answer.read(YankReply)

    def unyank(self, ref: EnvRef) -> YankReply:
        """Undo `yank`."""
        self._require("yank", "yanked versions")
        return self._connection.call("POST", f"{version_path(ref)}/unyank").read(YankReply)

    def _require(self, feature: str, what: str) -> None:
        """Raise UsageError on hubs without a feature of ours."""
        if feature not in self._features():
            raise UsageError(f"{host_of(self._connection.base_url)} has no {what}")

    def resolve(self, request: ResolveRequest) -> ResolveReply:
        """The environment of this name, created if missing."""
        answer = self._connection.call("POST", f"{ROOT}/resolve", body=request, repeatable=True)
        return answer.read(ResolveReply)

    def download(
        self,
        url: str,
        target: Path,
        *,
        sha256: str | None,
        progress: Progress,
        most_bytes: int | None = None,
    ) -> str:
        """Stream a wheel or source archive named in a detail; returns its sha256."""
        return download_file(
            self._connection,
            url,
            target,
            sha256=sha256,
            progress=progress,
            most_bytes=most_bytes,
        )

    def index_page(self, url: str) -> tuple[str, str]:
        """A package's page in a simple index (PEP 503): the final URL and the HTML."""
        response = self._connection.read(url)
        return str(response.url), response.text


def _named_version(detail: dict[str, Any]) -> dict[str, Any]:
    """Some hubs name the version `semanticVersion` or `version`, as the official client accepts."""
    for other in ("semanticVersion", "version"):
        if isinstance(detail.get(other), str):
            detail.setdefault("semantic_version", detail[other])
    return detail


_METADATA = (
    "description",
    "tags",
    "license",
    "dependencies",
    "python_requires",
    "original_filename",
    "requires_dist",
)


class Uploads:
    """The steps of publishing; nothing is visible until `finish_version` succeeds."""

    def __init__(self, connection: HubConnection) -> None:
        self._connection = connection

    def begin_wheel(self, env_id: str, request: ArtifactRequest) -> WheelTicket:
        """Announce a wheel; a ticket without an `upload_url` means that the hub has its bytes."""
        answer = self._connection.call("POST", f"{ROOT}/{env_id}/wheels", body=_announce(request))
        return answer.read(WheelTicket)

    def begin_version(self, env_id: str, request: ArtifactRequest) -> VersionTicket:
        """Announce a source archive."""
        answer = self._connection.call("POST", f"{ROOT}/{env_id}/versions", body=_announce(request))
        return answer.read(VersionTicket)

    def send(self, url: str, path: Path, progress: Progress) -> None:
        """PUT the bytes of `path` to a ticket's URL, without the key."""
        upload_file(self._connection, url, path, progress)

    def finish_wheel(self, env_id: str, wheel_id: str) -> None:
        """Have the hub check the wheel's bytes."""
        self._connection.call("POST", f"{ROOT}/{env_id}/wheels/{wheel_id}/finalize")

    def finish_version(self, env_id: str, version_id: str) -> FinalizeReply:
        """Make the version visible."""
        answer = self._connection.call("POST", f"{ROOT}/{env_id}/versions/{version_id}/finalize")
        return answer.read(FinalizeReply)


def _announce(request: ArtifactRequest) -> dict[str, Any]:
    """The request with all metadata that official clients send, even if empty."""
    body: dict[str, Any] = msgspec.to_builtins(request)
    metadata = {name: getattr(request.metadata, name) for name in _METADATA}
    return {**body, "metadata": {**metadata, **body.get("metadata", {})}}


class VersionDocuments:
    """Locks, check reports and signatures of versions, on hubs that announce the feature."""

    def __init__(self, connection: HubConnection) -> None:
        self._connection = connection

    def get(self, ref: EnvRef, kind: DocumentKind[D]) -> D | None:
        """The document of a version, None if there is none."""
        try:
            answer = self._connection.call("GET", f"{version_path(ref)}/{kind.path}")
        except NotFound:
            return None
        return answer.read(kind.document_type)

    def put(self, ref: EnvRef, kind: DocumentKind[D], document: D) -> None:
        """Store the document of a version, replacing an older one; raises NotAllowed."""
        self._connection.call("PUT", f"{version_path(ref)}/{kind.path}", body=document)


def download_file(
    connection: HubConnection,
    url: str,
    target: Path,
    *,
    sha256: str | None,
    progress: Progress,
    most_bytes: int | None = None,
) -> str:
    """Stream `url` to `target`, which appears only when complete; returns its sha256.

    The key is sent only to the hub's own host. Raises IntegrityError if the bytes do not match the
    expected digest (hex) or length, TooLarge above `most_bytes`.
    """
    make_folder(target.parent)
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        with connection.open("GET", url) as response:
            found = _receive(response, part, target.name, progress, most_bytes)
        if sha256 is not None and found != sha256.lower():
            raise IntegrityError(
                f"{target.name} has sha256 {found}, not {sha256} as declared",
                hint="nothing was saved; its owner can publish a new version with "
                "`prime env upload --auto-bump`",
            )
        with storage_errors(target):
            part.replace(target)
    finally:
        part.unlink(missing_ok=True)
    return found


def upload_file(connection: HubConnection, url: str, path: Path, progress: Progress) -> None:
    """PUT the bytes of `path` to `url`, without the key: the URL is itself a capability."""
    with storage_errors(path):
        size = path.stat().st_size
    with (
        progress.task(f"Uploading {path.name}", total=size, unit="bytes") as task,
        connection.open(
            "PUT",
            url,
            content=_blocks_of(path, task.advance),
            headers={"content-type": "application/octet-stream", "content-length": str(size)},
            with_key=False,
        ) as response,
    ):
        response.read()


def _receive(
    response: httpx.Response, part: Path, name: str, progress: Progress, most_bytes: int | None
) -> str:
    """Write the body to `part`, synced; returns its sha256."""
    length = response.headers.get("content-length", "")
    expected = int(length) if length.isdigit() else None
    hasher = hashlib.sha256()
    received = 0
    with (
        progress.task(f"Downloading {name}", total=expected, unit="bytes") as task,
        storage_errors(part),
        part.open("wb") as file,
    ):
        # Raw: a wheel or archive is kept as stored, whatever its Content-Encoding claims.
        for block in response.iter_raw(_BLOCK):
            if most_bytes is not None and received + len(block) > most_bytes:
                raise TooLarge(f"{name} has more than {most_bytes} bytes")
            file.write(block)
            hasher.update(block)
            received += len(block)
            task.advance(len(block))
        file.flush()
        os.fsync(file.fileno())
    if expected is not None and received != expected:
        raise IntegrityError(f"{name} ended after {received} of {expected} bytes", hint="try again")
    return hasher.hexdigest()


def _blocks_of(path: Path, advance: Callable[[int], None]) -> Iterator[bytes]:
    with storage_errors(path), path.open("rb") as file:
        while block := file.read(_BLOCK):
            yield block
            advance(len(block))
