from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from prime_cli.terminal.viewer.screen import printable, wrapped


@given(st.text(), st.integers(2, 30))
def test_wrapped_lines_fit_and_lose_nothing_but_blanks(text: str, width: int) -> None:
    shown = printable(text)
    lines = list(wrapped(shown, width))
    assert all(cell_len(line) <= width for line in lines)
    assert "".join(lines).replace(" ", "") == shown.replace("\n", "").replace(" ", "")


@given(st.text(st.characters()))
def test_printable_text_can_be_written_and_moves_nothing(text: str) -> None:
    shown = printable(text)
    shown.encode()
    assert all(letter == "\n" or ord(letter) >= 32 for letter in shown)
    assert not set(shown) & set("\x7f\x9b\u202e\u2066\u2028")


def test_lines_are_broken_at_blanks_where_there_are_some() -> None:
    assert list(wrapped("one two three", 8)) == ["one two", "three"]
    assert list(wrapped("abcdefghij", 4)) == ["abcd", "efgh", "ij"]
    assert list(wrapped("日本語", 4)) == ["日本", "語"]
