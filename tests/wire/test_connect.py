"""Frames of the Connect protocol, as its clients write and read them."""

import gzip

import pytest

from prime_cli.core.errors import TooLarge, UsageError
from prime_cli.wire import connect

MESSAGE = b"a message that is longer when it is packed"


def test_frames_carry_messages_and_the_last_one_an_error() -> None:
    assert connect.unframe(connect.frame(b"message")) == b"message"
    assert connect.end_frame() == b"\x02\0\0\0\x02{}"
    error = connect.ConnectError(connect.Code.NOT_FOUND, "gone")
    assert connect.end_frame(error)[5:] == b'{"error":{"code":"not_found","message":"gone"}}'


def test_a_packed_message_is_unpacked_as_far_as_it_may_be_large() -> None:
    def frame(packed: bytes) -> bytes:
        return b"\x01" + len(packed).to_bytes(4, "big") + packed

    assert connect.unframe(frame(gzip.compress(MESSAGE))) == MESSAGE
    with pytest.raises(UsageError, match="cut off"):
        connect.unframe(frame(gzip.compress(MESSAGE)[:-9]))
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
