"""Fields of protobuf are read as they were written, and other bytes are refused."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prime_cli.core.errors import UsageError
from prime_cli.wire.protobuf import Fields, bytes_field, number_field, text_field

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
