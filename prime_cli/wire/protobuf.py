"""The wire format of protobuf: fields of a message by their number.

Read and written by hand: five small messages are no reason to import its library. Fields that are
not known are skipped, as that does.
"""

from collections.abc import Iterator

from prime_cli.core.errors import UsageError

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
