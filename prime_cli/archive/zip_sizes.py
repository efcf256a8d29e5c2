"""Whether the members of a zip are as long as its index states.

Readers do not agree on one that is not: some stop at the stated size, others unpack all there is.
"""

import copy
import zipfile
import zlib
from collections.abc import Iterable

from prime_cli.core.errors import UnsafeContent

_BLOCK = 1 << 20
_RAW_DEFLATE = -zlib.MAX_WBITS
"""Without a header of its own, as in zip (RFC 1951)."""


def check_zip_sizes(archive: zipfile.ZipFile, members: Iterable[zipfile.ZipInfo]) -> None:
    """Raise UnsafeContent for a member that is longer or shorter than stated.

    Everything is decompressed, a block at a time, and no further than the stated size.
    """
    for info in members:
        if _length(archive, info) != info.file_size:
            raise UnsafeContent(f"The archive member `{info.filename}` is not as long as it states")


def _length(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> int:
    """The bytes that a member unpacks to; once they are more than stated, no more are counted."""
    if info.compress_type == zipfile.ZIP_STORED:
        return info.compress_size
    length = 0
    inflate = zlib.decompressobj(_RAW_DEFLATE)
    with archive.open(_as_stored(info)) as compressed:
        while not inflate.eof and length <= info.file_size:
            # What did not fit into the last block is there before anything new is read.
            given = inflate.unconsumed_tail or compressed.read(_BLOCK)
            block = inflate.decompress(given, _BLOCK)
            length += len(block)
            if not given and not block:
                break
    return length if inflate.eof else -1


def _as_stored(info: zipfile.ZipInfo) -> zipfile.ZipInfo:
    """The same member as one whose content is its compressed bytes, which have no checksum."""
    raw = copy.copy(info)
    raw.compress_type = zipfile.ZIP_STORED
    raw.file_size = info.compress_size
    del raw.CRC
    return raw
