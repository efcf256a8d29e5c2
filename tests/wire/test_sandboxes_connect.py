"""Command sessions on the wire: bytes as protobuf's own library writes and reads them."""

import gzip

import pytest

from prime_cli.core.errors import TooLarge, UsageError
from prime_cli.wire import sandboxes_connect as connect

# Written by protobuf from the client's own descriptors.
START = bytes.fromhex(
    "0a300a092f62696e2f6261736812022d6312076563686f2068691a050a014212001a060a014112013122042f746d70"
    "2a017520002a24" + "78" * 36
)
INPUT = bytes.fromhex("0a051a0361626312040a02696e1a016b")
SIGNAL = bytes.fromhex("0a0308ac02100f1a016b")
ATTACH = bytes.fromhex("0a0308ac02")
LIST = bytes.fromhex("0a1b0a120a092f62696e2f6261736812022d6312017810072203616263")


def test_a_start_is_read_as_the_official_client_writes_it() -> None:
    command = connect.CommandSpec(("/bin/bash", "-c", "echo hi"), {"A": "1", "B": ""}, "/tmp", "u")
    expected = connect.StartRequest(command, stdin=False, session="x" * 36)
    assert connect.read_start(START) == expected


def test_input_signals_and_sessions_are_read() -> None:
    assert connect.read_input(INPUT) == connect.InputRequest(connect.Selector("abc"), b"in", "k")
    selector = connect.Selector(pid=300)
    assert connect.read_signal(SIGNAL) == connect.SignalRequest(selector, 15, "k")
    assert connect.read_connect(ATTACH) == selector


def test_events_are_written_as_the_official_client_reads_them() -> None:
    events = [
        connect.started(300),
        connect.output(connect.STDERR, b"err"),
        connect.ended(137),
        connect.keepalive(),
    ]
    assert [each.hex() for each in events] == [
        "0a050a0308ac02",
        "0a0712051203657272",
        "0a071a050892021001",
        "0a022200",
    ]
    running = iter([(7, "abc", connect.CommandSpec(("/bin/bash", "-c", "x")))])
    assert connect.sessions(running) == LIST


def test_frames_carry_messages_and_the_last_one_an_error() -> None:
    assert connect.unframe(connect.frame(b"message")) == b"message"
    assert connect.end_frame() == b"\x02\0\0\0\x02{}"
    error = connect.ConnectError(connect.Code.NOT_FOUND, "gone")
    assert connect.end_frame(error)[5:] == b'{"error":{"code":"not_found","message":"gone"}}'


def test_a_packed_message_is_unpacked_as_far_as_it_may_be_large() -> None:
    def frame(packed: bytes) -> bytes:
        return b"\x01" + len(packed).to_bytes(4, "big") + packed

    assert connect.unframe(frame(gzip.compress(START))) == START
    with pytest.raises(UsageError, match="cut off"):
        connect.unframe(frame(gzip.compress(START)[:-9]))
    with pytest.raises(UsageError, match="has more than"):
        connect.unframe(frame(gzip.compress(bytes(connect.LARGEST_MESSAGE + 1))))


@pytest.mark.parametrize(
    "content", [b"", b"\0\0\0\0\x05abc", b"\x01\0\0\0\0", b"\x01\0\0\0\x03abc", b"\x04\0\0\0\0"]
)
def test_what_is_no_frame_is_refused(content: bytes) -> None:
    with pytest.raises(UsageError):
        connect.unframe(content)


def test_a_frame_says_its_size_before_it_is_read() -> None:
    with pytest.raises(TooLarge):
        connect.unframe(b"\0\xff\xff\xff\xff")


@pytest.mark.parametrize("size", range(len(START)))
def test_a_cut_message_is_refused_or_read_as_a_shorter_one(size: int) -> None:
    try:
        found = connect.read_start(START[:size])
    except UsageError:
        return
    assert found.command.argv == ("/bin/bash", "-c", "echo hi")


def test_a_message_of_other_types_is_refused() -> None:
    with pytest.raises(UsageError, match="number where bytes belong"):
        connect.read_start(b"\x08\x01")
    with pytest.raises(UsageError, match="names no session"):
        connect.read_connect(b"")
