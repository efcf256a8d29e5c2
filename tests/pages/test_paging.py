"""Lists of which a page shows some rows."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prime_cli.pages.paging import Cursor, Room, Window

ROOM = Room(rows=7, row_bytes=10, bytes=60)


def shown(rows: list[str], cursor: Cursor) -> Window[str]:
    return ROOM.window(rows, cursor, "/list")


@given(st.lists(st.text(max_size=20), min_size=1, max_size=40), st.integers(0, 99), st.booleans())
def test_any_place_in_an_address_shows_rows(rows: list[str], number: int, is_end: bool) -> None:
    found = shown(rows, Cursor(number, is_end))
    assert list(found.shown) == rows[found.start : found.end]
    assert found.shown


@given(st.lists(st.text(max_size=20), max_size=40))
def test_pages_one_after_the_other_have_each_row_once(rows: list[str]) -> None:
    seen: list[str] = []
    while len(seen) < len(rows):
        found = shown(rows, Cursor(len(seen)))
        assert found.start == len(seen)
        seen += found.shown
    assert seen == rows


def test_a_place_after_the_end_shows_the_last_rows() -> None:
    found = shown([str(number) for number in range(20)], Cursor(100))
    assert found.shown[-1] == "19"
    assert found.later == ""


@pytest.mark.parametrize(("total", "earlier"), [(25, "/list?before=26"), (0, "")])
def test_rows_that_went_meanwhile_leave_the_way_back(total: int, earlier: str) -> None:
    found: Window[str] = ROOM.part([], 1000, total, Cursor(1000), "/list")
    assert (found.earlier, found.later) == (earlier, "")


def test_the_first_rows_have_an_address_of_their_own() -> None:
    found = ROOM.window(["a"] * 40, Cursor(20), "/list?run=1", "rows")
    assert found.first == "/list?run=1&rows_from=1#rows"
