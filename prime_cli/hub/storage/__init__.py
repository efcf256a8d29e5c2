"""Where the bytes of wheels and source archives are kept, by their SHA-256."""

from pathlib import Path
from typing import BinaryIO, Protocol


class Storage(Protocol):
    """Blobs by digest. A blob is complete or absent, and never changes."""

    def put(self, path: Path, digest: str) -> None:
        """Keep the verified file at `path` under `digest`; the file itself is moved away.

        Raises StorageFailed.
        """

    def open(self, digest: str) -> BinaryIO:
        """A seekable reader of a blob; raises NotFound when there is none."""

    def delete(self, digest: str) -> None:
        """Forget a blob; one that is not there is no error."""
