"""Storage of wheels and source archives, by SHA-256."""

import os
import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import BinaryIO, NamedTuple, Protocol

from prime_cli.core.errors import UsageError

_SCHEME = re.compile(r"s3:|[a-z][a-z0-9+.-]+://")


class StoredBlob(NamedTuple):
    """A blob's SHA-256 in hex, and since when it has been there (aware)."""

    digest: str
    modified: datetime


class Storage(Protocol):
    """Blobs by digest. A blob is complete or absent, and never changes.

    Every method raises StorageFailed when the disk or the bucket refuses, and Unreachable when an
    object store gives no answer; both name the place and no secret.
    """

    def put(self, path: Path, digest: str) -> None:
        """Keep the verified file at `path` under `digest`; the file itself is moved away.

        When it raises, the file is still there and the blob is as it was.
        """

    def open(self, digest: str) -> BinaryIO:
        """A seekable reader of a blob; raises NotFound when there is none.

        Reading may raise what the methods raise. It holds a few MiB at most.
        """

    def size(self, digest: str) -> int | None:
        """The blob's size in bytes, or None if there is none."""

    def list(self) -> Iterator[StoredBlob]:
        """Every blob, in no order; other files are skipped."""

    def delete(self, digest: str) -> None:
        """Delete a blob; a missing one is not an error."""

    def local_path(self, digest: str) -> Path | None:
        """The path of the blob's file, existing or not; None if blobs are not local files."""

    def link(self, digest: str, filename: str, seconds: int) -> str | None:
        """A URL from which anybody may GET the blob for `seconds`, saved as `filename`.

        None if the storage has no URLs. Does not check that the blob exists.
        """


def open_storage(location: str | Path, environ: Mapping[str, str] = os.environ) -> Storage:
    """The storage at a folder or at `s3://bucket/prefix`, without looking into it.

    Endpoint, region and keys of a bucket are the AWS_* variables of `environ`. Raises UsageError
    when the location cannot be understood or the S3 client is not installed.
    """
    if isinstance(location, str) and location.startswith("s3://"):
        # Only a served hub with a bucket needs the S3 client.
        try:
            from prime_cli.hub.storage.s3 import open_bucket
        except ImportError as error:
            from prime_cli.core.installation import install_command

            raise UsageError(
                "Storage in a bucket needs the package obstore, which is not installed",
                hint=f"install the extra: `{install_command('hub')}`",
            ) from error
        return open_bucket(location, environ)
    if isinstance(location, str) and _SCHEME.match(location):
        raise UsageError(
            f"`{location}` is neither a folder nor a bucket",
            hint="write a bucket as `s3://bucket/prefix`",
        )
    from prime_cli.hub.storage.files import FileStorage

    return FileStorage(Path(location))
