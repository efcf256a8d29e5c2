"""How a screen is shared out among columns."""

from hypothesis import given
from hypothesis import strategies as st

from prime_cli.terminal.tables import column_widths

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
