"""What a hub application is made from."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from prime_cli.archive.limits import DEFAULT_LIMITS, MEBIBYTE, Limits
from prime_cli.hub.storage import Storage


def utc_now() -> datetime:
    """The time, aware, in UTC."""
    return datetime.now(UTC)


@dataclass(frozen=True)
class UploadLimits:
    """Bounds on what is published, in bytes; `archive` bounds the members of both artefacts."""

    wheel_bytes: int = 1024 * MEBIBYTE
    sources_bytes: int = 1024 * MEBIBYTE
    archive: Limits = field(default=DEFAULT_LIMITS)


@dataclass(frozen=True)
class HubSettings:
    """A hub's data folder, its owner, and where it can be reached.

    `owner` is the slug of whoever calls: without accounts there is one. `embedded` means that the
    application is driven in the caller's thread without an event loop, and that a `file://` index
    for uv and pip is kept beside the blobs. `public_url` starts every absolute URL in answers;
    `storage` is where blobs go (default: files in `data`). An upload URL is good for
    `upload_seconds`.
    """

    data: Path
    owner: str
    embedded: bool = True
    public_url: str = "http://hub.local"
    storage: Storage | None = None
    clock: Callable[[], datetime] = utc_now
    limits: UploadLimits = field(default_factory=UploadLimits)
    default_visibility: str = "PUBLIC"
    upload_seconds: int = 3600
