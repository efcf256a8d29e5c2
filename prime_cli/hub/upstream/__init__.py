"""Read through to another hub: what is missing is fetched from there, checked and kept.

An `UpstreamHub` is passed in, since the hub itself sends no HTTP. It is queried without a key, so
what it returns is public and may be served to everyone.
"""

from pathlib import Path
from typing import Protocol

from prime_cli.core.refs import EnvRef
from prime_cli.wire.environments import EnvironmentDetail, UpstreamWheel, VersionItem
from prime_cli.wire.version_documents import D, DocumentKind


class UpstreamHub(Protocol):
    """Another hub. Every method raises NotFound, or Unreachable if there is no answer."""

    @property
    def url(self) -> str:
        """Its origin, for messages."""

    def detail(self, ref: EnvRef) -> EnvironmentDetail:
        """Everything about one version, or the newest."""

    def versions(self, ref: EnvRef) -> list[VersionItem]:
        """Every version, newest first."""

    def wheels(self, ref: EnvRef) -> list[UpstreamWheel]:
        """What its package index lists with a digest; empty if it has no index."""

    def fetch_wheel(self, detail: EnvironmentDetail, folder: Path, most_bytes: int) -> Path:
        """The wheel as a file of its name in `folder`, with the expected digest.

        Raises IntegrityError, TooLarge.
        """

    def fetch_sources(self, detail: EnvironmentDetail, folder: Path, most_bytes: int) -> Path:
        """The same for the source archive."""

    def document(self, ref: EnvRef, kind: DocumentKind[D]) -> D | None:
        """A document of a version, if that hub keeps its kind and has one."""
