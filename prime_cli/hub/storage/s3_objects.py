"""Objects of a bucket: read as files by ranges, and failures in our own words."""

import io
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import BinaryIO

from obstore.exceptions import BaseError

from prime_cli.core.errors import PrimeError, StorageFailed, Unreachable

# --- Failures ---
# The client's own message quotes the store's answer, in which S3 repeats the access key and the
# string that was signed (SignatureDoesNotMatch). So of it only the HTTP status and the error's code
# are taken, and the message is not chained.

_STATUS = re.compile(r"status code: (\d{3})")
_CODE = re.compile(r"<Code>(\w{1,60})</Code>")
_NO_ANSWER = re.compile(r"HTTP error|error sending request|response body", re.IGNORECASE)
_REFUSED = (401, 403)


@contextmanager
def bucket_errors(bucket: str) -> Iterator[None]:
    """Turn what the S3 client raises into StorageFailed or Unreachable; FileNotFoundError passes,
    which stands for an object that is not there.
    """
    try:
        yield
    except BaseError as error:
        raise bucket_failure(bucket, str(error)) from None


def bucket_failure(bucket: str, message: str) -> PrimeError:
    """The error for a message of the S3 client."""
    failure = _describe(bucket, message)
    failure.names_places = True
    return failure


def _describe(bucket: str, message: str) -> PrimeError:
    head = message.partition("\n\nDebug source:")[0]
    status = _STATUS.search(head)
    code = _CODE.search(head)
    named = f" {code[1]}" if code else ""
    if status is not None:
        return _answered(bucket, int(status[1]), named)
    if _NO_ANSWER.search(head):
        return Unreachable(
            f"The bucket {bucket} does not answer",
            hint="try again; if it persists, check AWS_ENDPOINT_URL and the object store",
        )
    return StorageFailed(f"The bucket {bucket} failed{named}", hint="try again")


def _answered(bucket: str, status: int, named: str) -> PrimeError:
    if status in _REFUSED:
        return StorageFailed(
            f"The bucket {bucket} refuses the hub's keys (HTTP {status}{named})",
            hint="check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION and the bucket policy",
        )
    if "NoSuchBucket" in named:
        return StorageFailed(
            f"There is no bucket {bucket}",
            hint="create it, or check AWS_ENDPOINT_URL and AWS_REGION",
        )
    return StorageFailed(
        f"The bucket {bucket} failed (HTTP {status}{named})", hint="try again in a minute"
    )


# --- Reads ---

_FIRST = 128 * 1024
_LARGEST = 4 * 1024 * 1024

Fetch = Callable[[int, int], bytes | memoryview]
"""The bytes from `start` up to `stop`, not included."""


def open_ranges(fetch: Fetch, size: int) -> BinaryIO:
    """A seekable reader of `size` bytes; holds at most 8 MiB of them."""
    return io.BufferedReader(_Ranges(fetch, size), _LARGEST)


class _Ranges(io.RawIOBase):
    """Fetches little after a jump and twice as much for each further sequential read.

    So the few bytes at the end of a wheel cost few, and a whole download few requests.
    """

    def __init__(self, fetch: Fetch, size: int) -> None:
        super().__init__()
        self._fetch = fetch
        self._size = size
        self._position = 0
        self._ahead = _FIRST

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._position, os.SEEK_END: self._size}[whence]
        position = max(0, base + offset)
        if position != self._position:
            self._ahead = _FIRST
        self._position = position
        return position

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        wanted = min(len(buffer), self._ahead, self._size - self._position)
        if wanted <= 0:
            return 0
        block = self._fetch(self._position, self._position + wanted)
        if len(block) != wanted:
            raise StorageFailed(
                f"The object store sent {len(block)} bytes instead of {wanted}", hint="try again"
            )
        buffer[:wanted] = block
        self._position += wanted
        self._ahead = min(2 * self._ahead, _LARGEST)
        return wanted

    def readall(self) -> bytes:
        # Python's own asks for 8 KiB at a time.
        return b"".join(iter(lambda: self.read(_LARGEST) or b"", b""))
