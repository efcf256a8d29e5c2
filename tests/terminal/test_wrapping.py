"""Sentences are broken at words, and commands never."""

import re

from hypothesis import given
from hypothesis import strategies as st

from prime_cli.terminal.words import width
from prime_cli.terminal.wrapping import wrapped

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
def test_no_word_is_lost_and_no_line_is_too_long_but_for_one_word(
    words: list[str], columns: int
) -> None:
    text = " ".join(words)
    lines = wrapped(text, columns).split("\n")
    assert " ".join(line.strip() for line in lines) == text
    for line in lines:
        assert width(line) <= columns or len(re.findall(r"(?:`[^`]*`|\S)+", line)) == 1
