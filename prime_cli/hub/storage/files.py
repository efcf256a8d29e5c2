"""Blobs as files: `blobs/<first two letters>/<sha256>`."""

import contextlib
import errno
import re
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO

from prime_cli.core.errors import NotFound
from prime_cli.core.paths import flush_file, make_folder, replacing, storage_errors
from prime_cli.hub.storage import StoredBlob

_DIGEST = re.compile(r"[0-9a-f]{64}")


class FileStorage:
    """Storage in a folder, best on the same file system as the files that are put into it."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def path(self, digest: str) -> Path:
        """The path of the blob, existing or not."""
        return self.root / digest[:2] / digest

    def local_path(self, digest: str) -> Path | None:
        """The same, as part of the storage interface."""
        return self.path(digest)

    def put(self, path: Path, digest: str) -> None:
        """Flush `path` to the disk and rename it into place."""
        target = self.path(digest)
        make_folder(target.parent)
        with storage_errors(target):
            flush_file(path)
            try:
                path.replace(target)
            except OSError as error:
                if error.errno != errno.EXDEV:
                    raise
                _copy_across(path, target)

    def open(self, digest: str) -> BinaryIO:
        """A reader of the blob's file; raises NotFound if there is none."""
        path = self.path(digest)
        with storage_errors(path):
            try:
                return path.open("rb")
            except FileNotFoundError as error:
                raise NotFound(f"The hub has no blob with SHA-256 {digest}") from error

    def size(self, digest: str) -> int | None:
        """The size of the blob's file in bytes, or None when there is none."""
        path = self.path(digest)
        with storage_errors(path):
            try:
                return path.stat().st_size
            except FileNotFoundError:
                return None

    def list(self) -> Iterator[StoredBlob]:
        """Every file that is named by a digest."""
        with storage_errors(self.root):
            for path in self.root.glob("??/*"):
                if not _DIGEST.fullmatch(path.name):
                    continue
                with contextlib.suppress(FileNotFoundError):  # deleted meanwhile
                    modified = datetime.fromtimestamp(path.stat().st_mtime, UTC)
                    yield StoredBlob(path.name, modified)

    def delete(self, digest: str) -> None:
        """Unlink the blob's file; readers that have it open keep it."""
        path = self.path(digest)
        with storage_errors(path):
            path.unlink(missing_ok=True)

    def link(self, digest: str, filename: str, seconds: int) -> str | None:
        """None: the hub itself sends files."""
        return None


def _copy_across(path: Path, target: Path) -> None:
    """Move `path` to another file system: copied beside the target, flushed, renamed."""
    with path.open("rb") as source, replacing(target) as copy:
        shutil.copyfileobj(source, copy, 1 << 20)
    path.unlink()
