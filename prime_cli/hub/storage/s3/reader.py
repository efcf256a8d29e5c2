"""An object of a bucket as a file: read by ranges, each fetched when it is needed."""

import io
import os
from collections.abc import Callable
from typing import BinaryIO

from prime_cli.core.errors import StorageFailed

_FIRST = 128 * 1024
_LARGEST = 4 * 1024 * 1024

Fetch = Callable[[int, int], bytes | memoryview]
"""The bytes from `start` up to `stop`, not included."""


def open_ranges(fetch: Fetch, size: int) -> BinaryIO:
    """A seekable reader of `size` bytes; holds at most 8 MiB of them."""
    return io.BufferedReader(_Ranges(fetch, size), _LARGEST)


class _Ranges(io.RawIOBase):
    """Fetches little after a jump and twice as much each time that reading goes straight on.

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
