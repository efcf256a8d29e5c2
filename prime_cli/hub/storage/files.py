"""Blobs as files: `blobs/<first two letters>/<sha256>`."""

from pathlib import Path
from typing import BinaryIO

from prime_cli.core.errors import NotFound
from prime_cli.core.paths import flush_file, make_folder, storage_errors


class FileStorage:
    """Storage in a folder on the same file system as the files that are put into it."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def path(self, digest: str) -> Path:
        """Where the blob is, or would be."""
        return self.root / digest[:2] / digest

    def put(self, path: Path, digest: str) -> None:
        """Flush `path` to the disk and rename it into place."""
        target = self.path(digest)
        make_folder(target.parent)
        with storage_errors(target):
            flush_file(path)
            path.replace(target)

    def open(self, digest: str) -> BinaryIO:
        """A reader of the blob's file; raises NotFound when there is none."""
        path = self.path(digest)
        with storage_errors(path):
            try:
                return path.open("rb")
            except FileNotFoundError as error:
                raise NotFound(f"The hub has no bytes with the SHA-256 {digest}") from error

    def delete(self, digest: str) -> None:
        """Unlink the blob's file; readers that have it open keep it."""
        path = self.path(digest)
        with storage_errors(path):
            path.unlink(missing_ok=True)
