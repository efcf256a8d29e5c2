"""How a screen is shared out among columns."""

import io
import itertools
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prime_cli.terminal.output import Output
from prime_cli.terminal.tables import column_widths
from prime_cli.terminal.text import folded, in_room, pieces, width
from tests.terminal.test_output import Terminal

WORDS = st.text(alphabet="ab ", max_size=60)


def test_what_fits_is_not_wrapped() -> None:
    assert column_widths(["A", "B"], [["abc", "two words"]], 80) == [3, 9]


def test_long_text_takes_what_the_short_columns_leave() -> None:
    row = ["starter/alphabet-sort", "0.1.0", "sort " * 30, "5 min ago"]
    assert column_widths(["Name", "Version", "About", "Updated"], [row], 80) == [21, 7, 37, 9]


def test_columns_without_room_are_omitted_from_the_end() -> None:
    row = ["starter/alphabet-sort", "0.1.0", "sort " * 30]
    assert column_widths(["Name", "Version", "Description"], [row], 40) == [21, 7]


@given(st.lists(st.tuples(WORDS, WORDS, WORDS)), st.integers(min_value=1, max_value=120))
def test_a_table_is_never_wider_than_the_screen(
    rows: list[tuple[str, str, str]], screen: int
) -> None:
    widths = column_widths(["A", "Bb", "Ccc"], rows, screen)
    assert sum(widths) + 2 * (len(widths) - 1) <= screen
    assert 1 <= len(widths) <= 3


def test_text_is_not_squeezed_on_a_roomy_screen_and_later_columns_go_first() -> None:
    cells = [
        ["starter/alphabet-sort", "Sort names by first or last name, tagging new ones", "tag " * 9]
    ]
    widths = column_widths(["Environment", "Description", "Tags"], cells, 80)
    assert min(widths[1:]) >= 24
    narrow = [
        ["starter/alphabet-sort", "Sort names by first or last name " * 2, "public", "tag " * 9]
    ]
    assert len(column_widths(["Environment", "Description", "Visibility", "Tags"], narrow, 80)) == 3


def test_a_short_text_of_two_words_is_not_broken_where_a_later_column_can_go() -> None:
    row = ["c663c3", "CPU_NODE x1", "$0.00", "local", "Available"]
    titles = ["Id", "GPU", "$/h", "Provider", "Stock"]
    assert column_widths(titles, [row], 40) == [6, 11, 5, 8]


SAVED = [
    "358957c1",
    "starter/alphabet-sort@0.1.0",
    "claude-sonnet-4-5-20250929",
    "0.512",
    "interrupted",
    "59 min ago",
    "300 x 2",
    "12%",
    "$0.2031",
]
SAVED_TITLES = [
    "Run",
    "Environment",
    "Model",
    "Reward",
    "Status",
    "Date",
    "n x r",
    "Errors",
    "Cost",
]


def test_long_names_make_room_for_short_values() -> None:
    assert len(column_widths(SAVED_TITLES, [SAVED], 80)) >= 7
    assert len(column_widths(SAVED_TITLES, [SAVED], 60)) >= 4


@pytest.mark.parametrize("columns", [60, 80])
def test_no_value_is_broken_inside_a_number(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.delenv("NO_COLOR", raising=False)
    out = Terminal()
    output = Output(out=out, err=io.StringIO())
    output.table(SAVED_TITLES, [SAVED], records=[])
    output.show({}, lines=[("Environment", "starter/alphabet-sort@0.1.0 on verifiers 0.3.1, x")])
    shown = re.sub(r"\x1b\[[0-9;]*m", "", out.getvalue())
    assert all(width(line) <= columns for line in shown.splitlines())
    numbers = re.findall(r"\d[\d.]*", " ".join(SAVED[:5]) + " 0.3.1")
    assert [number for number in numbers if number not in re.findall(r"\d[\d.]*", shown)] == []


@given(st.text(alphabet="ab1/@-_.", min_size=1, max_size=40), st.integers(12, 40))
def test_a_name_is_the_sum_of_its_pieces(name: str, room: int) -> None:
    assert "".join(pieces(name)) == name
    assert folded(name, room).replace("\n", "") == name
    for left, right in itertools.pairwise(pieces(name)):
        assert not (left[-1].isdigit() and right[0].isdigit())


@given(st.text(alphabet="ab 1,", max_size=80), st.integers(1, 40))
def test_lines_in_a_room_lose_no_word(text: str, room: int) -> None:
    lines = in_room(text, room)
    assert " ".join(lines).split() == text.split()
    assert all(width(line) <= room or " " not in line for line in lines)
