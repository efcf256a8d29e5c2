"""Frames of the Connect protocol, as its clients write and read them."""

import gzip
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prime_cli.core.errors import TooLarge, UsageError
from prime_cli.wire import connect
from prime_cli.wire.connect import Fields, bytes_field, number_field, text_field

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


NUMBERS = st.integers(1, 2**29 - 1)
VALUES = st.integers(0, 2**64 - 1)


@given(NUMBERS, VALUES, st.binary(), st.lists(st.text()))
def test_what_is_written_is_read(number: int, value: int, data: bytes, texts: list[str]) -> None:
    assert Fields(number_field(number, value)).number(number) == value
    assert Fields(bytes_field(number, data)).bytes(number) == data
    message = b"".join(text_field(number, each) for each in texts)
    assert Fields(message).texts(number) == texts
    assert Fields(bytes_field(1, message)).message(1).texts(number) == texts


@given(NUMBERS, VALUES, VALUES)
def test_of_a_field_that_is_there_twice_the_last_one_counts(
    number: int, first: int, last: int
) -> None:
    message = number_field(number, first) + number_field(number, last)
    assert Fields(message).number(number) == last


@given(st.binary())
def test_any_bytes_are_fields_or_refused(content: bytes) -> None:
    with suppress(UsageError):
        Fields(content)


@pytest.mark.parametrize("fixed", [b"\x09" + bytes(8), b"\x0d" + bytes(4)])
def test_fields_of_kinds_that_are_not_used_are_skipped(fixed: bytes) -> None:
    assert Fields(fixed + number_field(2, 7)).number(2) == 7


def test_a_field_of_another_kind_is_refused() -> None:
    with pytest.raises(UsageError, match="bytes where a number belongs"):
        Fields(bytes_field(1, b"")).number(1)
    with pytest.raises(UsageError, match="number where bytes belong"):
        Fields(number_field(1, 1)).bytes(1)
    with pytest.raises(UsageError, match="not UTF-8"):
        Fields(bytes_field(1, b"\xff")).text(1)
