"""The Connect protocol: a stream has a message in each frame, and ends with one of its own.

Messages are protobuf, read and written by hand: five small ones are no reason to import its
library. Fields that are not known are skipped, as that does.
"""

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


# --- Fields of protobuf ---

_VARINT, _FIXED64, _LENGTH, _FIXED32 = 0, 1, 2, 5
_WIDTH = {_FIXED64: 8, _FIXED32: 4}
_MOST_BITS = 64
_LOW = 0x7F


class Fields:
    """The fields of a message; raises UsageError for bytes that are none."""

    def __init__(self, message: bytes) -> None:
        self._values: dict[int, list[int | bytes]] = {}
        for number, value in _read_fields(message):
            self._values.setdefault(number, []).append(value)

    def number(self, number: int) -> int | None:
        """The last value of a field of numbers, or None."""
        found = self._values.get(number, [])
        if found and isinstance(found[-1], bytes):
            raise UsageError("The message has bytes where a number belongs")
        return found[-1] if found and isinstance(found[-1], int) else None

    def bytes(self, number: int) -> bytes | None:
        """The last value of a field of bytes, or None."""
        found = self._values.get(number, [])
        return _bytes(found[-1]) if found else None

    def text(self, number: int) -> str | None:
        """The last value of a field of text, or None."""
        found = self._values.get(number, [])
        return _text(found[-1]) if found else None

    def texts(self, number: int) -> list[str]:
        """The values of a repeated field of text."""
        return [_text(each) for each in self._values.get(number, [])]

    def message(self, number: int) -> "Fields":
        """The last message in a field; an empty one for none."""
        return Fields(self.bytes(number) or b"")

    def messages(self, number: int) -> list["Fields"]:
        """The messages of a repeated field."""
        return [Fields(_bytes(each)) for each in self._values.get(number, [])]


def _read_fields(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    at = 0
    while at < len(message):
        tag, at = _read_varint(message, at)
        kind = tag & 7
        if kind == _VARINT:
            number, at = _read_varint(message, at)
            yield tag >> 3, number
            continue
        length, at = _read_varint(message, at) if kind == _LENGTH else (_WIDTH.get(kind, -1), at)
        if length < 0 or at + length > len(message):
            raise UsageError("The message is not protobuf, or is cut off")
        yield tag >> 3, message[at : at + length]
        at += length


def _read_varint(message: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while at < len(message) and shift < _MOST_BITS:
        byte = message[at]
        at, value, shift = at + 1, value | (byte & _LOW) << shift, shift + 7
        if byte <= _LOW:
            return value, at
    raise UsageError("The message is not protobuf, or is cut off")


def _bytes(value: int | bytes) -> bytes:
    if isinstance(value, int):
        raise UsageError("The message has a number where bytes belong")
    return value


def _text(value: int | bytes) -> str:
    try:
        return _bytes(value).decode()
    except UnicodeDecodeError as error:
        raise UsageError("The message has a text that is not UTF-8") from error


def _varint(number: int) -> bytes:
    found = bytearray()
    while number > _LOW:
        found.append(number & _LOW | _LOW + 1)
        number >>= 7
    return bytes([*found, number])


def number_field(number: int, value: int) -> bytes:
    """A field with a number of 0 or more."""
    return _varint(number << 3) + _varint(value)


def bytes_field(number: int, value: bytes) -> bytes:
    """A field with bytes, which may be those of a message."""
    return _varint(number << 3 | _LENGTH) + _varint(len(value)) + value


def text_field(number: int, value: str) -> bytes:
    """A field with text."""
    return bytes_field(number, value.encode())
