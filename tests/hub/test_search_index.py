import pytest
from hypothesis import given
from hypothesis import strategies as st

from prime_cli.hub.search_index import LONGEST, document_words, search_words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("add-up_two.three", ["add", "up", "two", "three"]),
        ("GSM8K", ["gsm8k"]),
        ("Épée ÉPÉE epee", ["epee"]),
        ("Straße", ["strasse"]),
        ("\uff57\uff49\uff44\uff45", ["wide"]),
        ("数学 game", ["数", "学", "game"]),
        ('100% "quoted" NEAR(a, b) * -x', ["100", "quoted", "near", "a", "b", "x"]),
        ("_ -- !", []),
        ("", []),
        ("x" * 99, ["x" * LONGEST]),
    ],
)
def test_search_takes_a_text_apart(text: str, words: list[str]) -> None:
    assert search_words(text) == words


def test_parts_in_camel_case_are_words_too() -> None:
    assert document_words(["MathQuiz", "HTTPServer"]) == [
        "mathquiz", "math", "quiz", "httpserver", "http", "server",
    ]  # fmt: skip


def test_long_document_is_found_by_its_first_words() -> None:
    words = document_words([" ".join(f"w{number}" for number in range(5000))])
    assert words[-1] == "w999"


@given(st.text())
def test_whole_text_finds_its_document(text: str) -> None:
    assert set(search_words(text)[:500]) <= set(document_words([text]))


@given(st.text())
def test_word_can_stand_in_a_query(text: str) -> None:
    for word in search_words(text):
        assert word
        assert not set(word) & set(" \"'()*&|!:<=\\\0_-")
