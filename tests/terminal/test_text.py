"""Text made fit for a terminal."""

import json
import re
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prime_cli.terminal.text import age, aligned, as_json, clean, width, wrapped

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("2026-11-21T11:59:30Z", "30 s ago"),
        ("2026-11-21T11:55:00+00:00", "5 min ago"),
        ("2026-11-21T13:00:00+02:00", "1 h ago"),
        ("2026-11-20T11:00:00Z", "1 day ago"),
        ("2026-11-01T11:00:00.123456Z", "20 days ago"),
        ("2026-01-01T11:00:00Z", "2026-01-01"),
        ("2027-01-01T11:00:00Z", "2027-01-01"),
        ("2026-11-21T11:59:30", "2026-11-21T11:59:30"),
        ("2026-11-21T99:59:30Z", "2026-11-21T99:59:30Z"),
        ("0.1.0", "0.1.0"),
    ],
)
def test_timestamps_become_ages_and_nothing_else_does(text: str, told: str) -> None:
    assert age(text, NOW) == told


@given(st.text())
def test_cleaned_text_has_no_control_characters_but_tab_and_newline(text: str) -> None:
    assert all(c in "\t\n" or (c >= " " and not "\x7f" <= c < "\xa0") for c in clean(text))


def test_code_is_not_shown_in_another_order_than_it_runs() -> None:
    line = "if access == 'user\u202e\u2066# checked\u2069\u2066' and admin:"
    assert clean(line) == (r"if access == 'user\u202e\u2066# checked\u2069\u2066' and admin:")
    assert clean("שלום") == "שלום"


def test_wide_characters_take_two_cells() -> None:
    assert width("漢字") == 4
    assert aligned(["A", "B"], [["漢", "x"], ["abc", "y"]]) == ["A    B", "漢   x", "abc  y"]


def test_json_on_a_terminal_has_no_control_characters_and_means_the_same() -> None:
    said = {"name\x9b": "\x1b[2J\x7f\x9b31m é"}
    text = as_json(said)
    assert not {"\x1b", "\x7f", "\x9b"} & set(text)
    assert "é" in text
    assert json.loads(text) == said


HINT = "hint: see what is there with `prime env inspect ada/wordle`, or make one"


def test_a_sentence_is_broken_at_words_and_a_command_is_not() -> None:
    assert wrapped(HINT, 40).splitlines() == [
        "hint: see what is there with",
        "  `prime env inspect ada/wordle`, or",
        "  make one",
    ]
    assert wrapped(HINT, len(HINT)) == HINT


def test_colours_take_no_room() -> None:
    assert wrapped("\x1b[31merror:\x1b[0m it is so", 15) == "\x1b[31merror:\x1b[0m it is so"


def test_what_is_there_to_be_copied_is_left_alone() -> None:
    line = "  export PRIME_API_BASE_URL=http://127.0.0.1:8000 and more"
    assert wrapped(f"{line}\n{line}", 20) == f"{line}\n{line}"


@given(st.lists(st.text("ab漢`.", min_size=1, max_size=12)), st.integers(4, 60))
def test_no_word_is_lost_and_only_single_words_exceed_a_line(
    words: list[str], columns: int
) -> None:
    text = " ".join(words)
    lines = wrapped(text, columns).split("\n")
    assert " ".join(line.strip() for line in lines) == text
    for line in lines:
        assert width(line) <= columns or len(re.findall(r"(?:`[^`]*`|\S)+", line)) == 1
