"""Command sessions of sandboxes: frames of the Connect protocol, and the protobuf messages in them.

Read and written by hand: five small messages are no reason to import protobuf. Fields that are not
known are skipped, as protobuf does.
"""

import struct
import zlib
from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import Final

import msgspec

from prime_cli.core.errors import TooLarge, UsageError

SERVICE = "command_session.CommandSession"
STREAM_TYPE = "application/connect+proto"
UNARY_TYPE = "application/proto"

LARGEST_MESSAGE = 16 * 1024 * 1024

# --- Frames ---

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
        raise UsageError("The request is no Connect frame: it has fewer than 5 bytes")
    flags, length = _HEADER.unpack_from(content)
    if length > LARGEST_MESSAGE:
        raise TooLarge(f"The message has more than {LARGEST_MESSAGE} bytes")
    message = content[_HEADER.size : _HEADER.size + length]
    if flags not in (0, _COMPRESSED) or len(message) < length:
        raise UsageError("The request is no Connect frame: it is cut off")
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


# --- Requests ---

_CLOSES = 15


class CommandSpec(msgspec.Struct, frozen=True):
    """The program to start, as execve(2) takes it; None for the sandbox's own folder and user."""

    argv: tuple[str, ...]
    env: dict[str, str] = {}
    cwd: str | None = None
    user: str | None = None


class StartRequest(msgspec.Struct, frozen=True):
    """`Start`: a known `session` is attached to. `pty` asks for a terminal."""

    command: CommandSpec
    stdin: bool = False
    session: str | None = None
    pty: bool = False


class Selector(msgspec.Struct, frozen=True):
    """A session, by its uuid or by the pid in its first event."""

    session: str | None = None
    pid: int | None = None


class InputRequest(msgspec.Struct, frozen=True):
    """`SendInput`: a known `key` was sent before. That it `closes` stdin is ours: field 15."""

    selector: Selector
    data: bytes
    key: str | None = None
    closes: bool = False


class SignalRequest(msgspec.Struct, frozen=True):
    """`SendSignal`: 15 or 9."""

    selector: Selector
    signal: int
    key: str | None = None


def read_start(message: bytes) -> StartRequest:
    """Raises UsageError."""
    fields = _Fields(message)
    spec = _Fields(fields.bytes(1) or b"")
    program = spec.text(1)
    if not program:
        raise UsageError("The request names no command")
    pairs = [_Fields(_bytes(each)) for each in spec.all(3)]
    command = CommandSpec(
        (program, *(_text(each) for each in spec.all(2))),
        {pair.text(1) or "": pair.text(2) or "" for pair in pairs},
        spec.text(4),
        spec.text(5),
    )
    return StartRequest(
        command, bool(fields.number(4)), fields.text(5), pty=fields.bytes(2) is not None
    )


def read_input(message: bytes) -> InputRequest:
    """Raises UsageError."""
    fields = _Fields(message)
    given = _Fields(fields.bytes(2) or b"")
    data = given.bytes(1) or given.bytes(2) or b""
    closes = bool(given.number(_CLOSES))
    return InputRequest(_read_selector(fields), data, fields.text(3), closes)


def read_signal(message: bytes) -> SignalRequest:
    """Raises UsageError."""
    fields = _Fields(message)
    signal = fields.number(2) or 0
    if signal not in (9, 15):
        raise UsageError(f"{signal} is no signal that can be sent", hint="send 15 or 9")
    return SignalRequest(_read_selector(fields), signal, fields.text(3))


def read_connect(message: bytes) -> Selector:
    """The session of a `Connect`; raises UsageError."""
    return _read_selector(_Fields(message))


def _read_selector(fields: "_Fields") -> Selector:
    selector = _Fields(fields.bytes(1) or b"")
    found = Selector(selector.text(3), selector.number(1))
    if found.session is None and found.pid is None:
        raise UsageError("The request names no session")
    return found


# --- Answers ---

STDOUT, STDERR = 1, 2


def started(pid: int) -> bytes:
    """The first event of a session."""
    return _event(1, _number_field(1, pid))


def output(stream: int, data: bytes) -> bytes:
    """An event with output of STDOUT or STDERR."""
    return _event(2, _bytes_field(stream, data))


def ended(code: int) -> bytes:
    """The last event: the exit code, or 128 + the signal."""
    return _event(3, _number_field(1, code << 1) + _number_field(2, 1))


def keepalive() -> bytes:
    """An event that says only that the connection is alive."""
    return _event(4, b"")


def sessions(found: Iterator[tuple[int, str, CommandSpec]]) -> bytes:
    """The answer of `List`: pid, uuid and command of each running session."""
    answer = b""
    for pid, session, command in found:
        spec = _bytes_field(1, command.argv[0].encode())
        spec += b"".join(_bytes_field(2, word.encode()) for word in command.argv[1:])
        info = _bytes_field(1, spec) + _number_field(2, pid) + _bytes_field(4, session.encode())
        answer += _bytes_field(1, info)
    return answer


def _event(number: int, message: bytes) -> bytes:
    return _bytes_field(1, _bytes_field(number, message))


# --- What a client sends and reads ---


class Started(msgspec.Struct, frozen=True):
    """The command runs."""

    pid: int


class Output(msgspec.Struct, frozen=True):
    """Bytes of STDOUT or STDERR."""

    stream: int
    data: bytes


class Ended(msgspec.Struct, frozen=True):
    """The command has ended."""

    code: int


Event = Started | Output | Ended


def start_request(request: StartRequest) -> bytes:
    """The message of a `Start`."""
    program, *words = request.command.argv
    spec = _bytes_field(1, program.encode())
    spec += b"".join(_bytes_field(2, word.encode()) for word in words)
    for name, value in request.command.env.items():
        pair = _bytes_field(1, name.encode()) + _bytes_field(2, value.encode())
        spec += _bytes_field(3, pair)
    for number, text in ((4, request.command.cwd), (5, request.command.user)):
        spec += b"" if text is None else _bytes_field(number, text.encode())
    session = b"" if request.session is None else _bytes_field(5, request.session.encode())
    return _bytes_field(1, spec) + _number_field(4, int(request.stdin)) + session


def input_request(session: str, data: bytes) -> bytes:
    """The message of a `SendInput`; without `data` it closes stdin."""
    selector = _bytes_field(1, _bytes_field(3, session.encode()))
    given = _bytes_field(1, data) if data else _number_field(_CLOSES, 1)
    return selector + _bytes_field(2, given)


def read_event(message: bytes) -> Event | None:
    """One event of a session, None for one that says nothing; raises UsageError."""
    event = _Fields(_Fields(message).bytes(1) or b"")
    if (begun := event.bytes(1)) is not None:
        return Started(_Fields(begun).number(1) or 0)
    if (part := event.bytes(2)) is not None:
        data = _Fields(part)
        stderr = data.bytes(STDERR)
        stdout = data.bytes(STDOUT) or data.bytes(3) or b""
        return Output(STDOUT, stdout) if stderr is None else Output(STDERR, stderr)
    if (last := event.bytes(3)) is not None:
        code = _Fields(last).number(1) or 0
        return Ended((code >> 1) ^ -(code & 1))
    return None


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


# --- Protobuf ---

_VARINT, _FIXED64, _LENGTH, _FIXED32 = 0, 1, 2, 5
_WIDTH = {_FIXED64: 8, _FIXED32: 4}
_MOST_BITS = 64
_LOW = 0x7F


class _Fields:
    """The fields of a message; raises UsageError for bytes that are none."""

    def __init__(self, message: bytes) -> None:
        self._values: dict[int, list[int | bytes]] = {}
        for number, value in _read_fields(message):
            self._values.setdefault(number, []).append(value)

    def all(self, number: int) -> list[int | bytes]:
        """The values of a repeated field."""
        return self._values.get(number, [])

    def bytes(self, number: int) -> bytes | None:
        """The last value of a field of bytes, or None."""
        found = self.all(number)
        return _bytes(found[-1]) if found else None

    def text(self, number: int) -> str | None:
        """The last value of a field of text, or None."""
        found = self.all(number)
        return _text(found[-1]) if found else None

    def number(self, number: int) -> int | None:
        """The last value of a field of numbers, or None."""
        found = self.all(number)
        if found and isinstance(found[-1], bytes):
            raise UsageError("The message has bytes where a number belongs")
        return found[-1] if found and isinstance(found[-1], int) else None


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
            raise UsageError("The message is no protobuf, or is cut off")
        yield tag >> 3, message[at : at + length]
        at += length


def _read_varint(message: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while at < len(message) and shift < _MOST_BITS:
        byte = message[at]
        at, value, shift = at + 1, value | (byte & _LOW) << shift, shift + 7
        if byte <= _LOW:
            return value, at
    raise UsageError("The message is no protobuf, or is cut off")


def _varint(number: int) -> bytes:
    found = bytearray()
    while number > _LOW:
        found.append(number & _LOW | _LOW + 1)
        number >>= 7
    return bytes([*found, number])


def _number_field(number: int, value: int) -> bytes:
    return _varint(number << 3) + _varint(value)


def _bytes_field(number: int, value: bytes) -> bytes:
    return _varint(number << 3 | _LENGTH) + _varint(len(value)) + value


def _bytes(value: int | bytes) -> bytes:
    if isinstance(value, int):
        raise UsageError("The message has a number where bytes belong")
    return value


def _text(value: int | bytes) -> str:
    try:
        return _bytes(value).decode()
    except UnicodeDecodeError as error:
        raise UsageError("The message has a text that is not UTF-8") from error
