import pytest
from hypothesis import given
from hypothesis import strategies as st

from prime_cli.hub.headers import Part, Unsatisfiable, parse_range


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("bytes=0-0", Part(0, 1, 10)),
        ("bytes=0-99", Part(0, 10, 10)),
        ("bytes=4-", Part(4, 10, 10)),
        ("bytes=-3", Part(7, 10, 10)),
        ("bytes=-99", Part(0, 10, 10)),
        ("bytes = 1 - 2", Part(1, 3, 10)),
        (None, None),
        ("bytes=-", None),
        ("bytes=3-2", None),
        ("bytes=0-1,4-5", None),
        ("lines=0-1", None),
    ],
)
def test_range_header_is_read_as_the_rfc_says(header: str | None, expected: Part | None) -> None:
    assert parse_range(header, 10) == expected


@pytest.mark.parametrize("header", ["bytes=10-", "bytes=10-20", "bytes=-0"])
def test_range_behind_the_end_is_unsatisfiable(header: str) -> None:
    with pytest.raises(Unsatisfiable):
        parse_range(header, 10)


@given(st.text(alphabet="bytes=0123456789-, ", max_size=30), st.integers(0, 2**40))
def test_part_lies_within_the_file(header: str, size: int) -> None:
    try:
        part = parse_range(header, size)
    except Unsatisfiable:
        return
    assert part is None or 0 <= part.start < part.stop <= size
