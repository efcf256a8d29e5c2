"""`/environmentshub/{id}/wheels` and `/versions`: begin, send, finish."""

from pathlib import Path
from typing import Any

import msgspec

from prime_cli.api import transfers
from prime_cli.api.connection import Connection
from prime_cli.api.environments import ROOT
from prime_cli.core.progress import Progress
from prime_cli.wire.environments import (
    ArtifactRequest,
    FinalizeReply,
    VersionTicket,
    WheelTicket,
)

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
    """The steps of publishing; nothing is visible before `finish_version` succeeded."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def begin_wheel(self, env_id: str, request: ArtifactRequest) -> WheelTicket:
        """Announce a wheel; no `upload_url` in the ticket means that the hub has its bytes."""
        answer = self._connection.call("POST", f"{ROOT}/{env_id}/wheels", body=_announce(request))
        return answer.read(WheelTicket)

    def begin_version(self, env_id: str, request: ArtifactRequest) -> VersionTicket:
        """Announce a source archive."""
        answer = self._connection.call("POST", f"{ROOT}/{env_id}/versions", body=_announce(request))
        return answer.read(VersionTicket)

    def send(self, url: str, path: Path, progress: Progress) -> None:
        """PUT the bytes of `path` to a ticket's URL; the key does not go along."""
        transfers.upload(self._connection, url, path, progress)

    def finish_wheel(self, env_id: str, wheel_id: str) -> None:
        """Let the hub check the wheel's bytes."""
        self._connection.call("POST", f"{ROOT}/{env_id}/wheels/{wheel_id}/finalize")

    def finish_version(self, env_id: str, version_id: str) -> FinalizeReply:
        """Make the version visible."""
        answer = self._connection.call("POST", f"{ROOT}/{env_id}/versions/{version_id}/finalize")
        return answer.read(FinalizeReply)


def _announce(request: ArtifactRequest) -> dict[str, Any]:
    """The request with all the metadata that official clients send, also where it is empty."""
    body: dict[str, Any] = msgspec.to_builtins(request)
    metadata = {name: getattr(request.metadata, name) for name in _METADATA}
    return {**body, "metadata": {**metadata, **body.get("metadata", {})}}
