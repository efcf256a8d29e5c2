"""Frames of the Connect protocol: a stream has a message in each, and ends with one of its own."""

import struct
import zlib
from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import Final

import msgspec

from prime_cli.core.errors import TooLarge, UsageError

STREAM_TYPE = "application/connect+proto"
UNARY_TYPE = "application/proto"

LARGEST_MESSAGE = 16 * 1024 * 1024

_HEADER: Final = struct.Struct(">BI")
_COMPRESSED, _END = 1, 2


class Code(StrEnum):
    """Why a call failed, in Connect's words."""

    UNAUTHENTICATED = "unauthenticated"
    NOT_FOUND = "not_found"
    INVALID_ARGUMENT = "invalid_argument"
    FAILED_PRECONDITION = "failed_precondition"
    DEADLINE_EXCEEDED = "deadline_exceeded"
    RESOURCE_EXHAUSTED = "resource_exhausted"
    UNAVAILABLE = "unavailable"
    UNIMPLEMENTED = "unimplemented"


class ConnectError(msgspec.Struct, omit_defaults=True):
    """The error of a unary call, or of the last frame of a stream."""

    code: str
    message: str = ""


class _End(msgspec.Struct, omit_defaults=True):
    error: ConnectError | None = None


def frame(message: bytes) -> bytes:
    """A message as a frame of a stream."""
    return _HEADER.pack(0, len(message)) + message


def end_frame(error: ConnectError | None = None) -> bytes:
    """The last frame of a stream."""
    message = msgspec.json.encode(_End(error))
    return _HEADER.pack(_END, len(message)) + message


def unframe(content: bytes) -> bytes:
    """The message of the first frame of a request; raises UsageError or TooLarge."""
    if len(content) < _HEADER.size:
        raise UsageError("The request is not a Connect frame: it has fewer than 5 bytes")
    flags, length = _HEADER.unpack_from(content)
    if length > LARGEST_MESSAGE:
        raise TooLarge(f"The message has more than {LARGEST_MESSAGE} bytes")
    message = content[_HEADER.size : _HEADER.size + length]
    if flags not in (0, _COMPRESSED) or len(message) < length:
        raise UsageError("The request is not a Connect frame: it is cut off")
    return _unpack(message) if flags else message


def _unpack(message: bytes) -> bytes:
    """A message as the clients 0.2.27 to 0.2.36 pack it, by gzip."""
    unpacking = zlib.decompressobj(wbits=31)
    try:
        content = unpacking.decompress(message, LARGEST_MESSAGE)
    except zlib.error as error:
        raise UsageError(f"The message is not packed by gzip: {error}") from error
    if not unpacking.eof:
        raise UsageError(f"The message is cut off, or has more than {LARGEST_MESSAGE} bytes")
    return content


def read_frames(chunks: Iterable[bytes]) -> Iterator[tuple[bytes, ConnectError | None]]:
    """The messages of a stream; the last frame is an error, or nothing more."""
    kept = bytearray()
    for chunk in chunks:
        kept += chunk
        while len(kept) >= _HEADER.size:
            flags, length = _HEADER.unpack_from(kept)
            if length > LARGEST_MESSAGE:
                raise TooLarge(f"The message has more than {LARGEST_MESSAGE} bytes")
            if len(kept) < _HEADER.size + length:
                break
            message = bytes(kept[_HEADER.size : _HEADER.size + length])
            del kept[: _HEADER.size + length]
            if flags & _END:
                error = msgspec.json.decode(message or b"{}", type=_End).error
                if error is not None:
                    yield b"", error
                return
            yield message, None
