"""The words of a text, as the search of the catalogue compares them.

Two texts have a word in common whatever their case, accents and width of letters. A word is a run
of letters and digits; `-`, `_`, `.` and all other characters only separate. Chinese and Japanese,
which are written without spaces, are taken a character at a time.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator

LONGEST = 40
"""Characters after which a word is cut off, in texts and searches alike."""

_MOST = 1000
_RUN = re.compile(r"[^\W_]+")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_ONE_BY_ONE = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]")


def search_words(text: str) -> list[str]:
    """The words to look for, each once, in their order; none for a text without letters."""
    return list(dict.fromkeys(_fold(text)))


def document_words(texts: Iterable[str]) -> list[str]:
    """The words under which texts are found, each once: at most the first 1,000.

    The parts of a word in camel case count as words too: `MathQuiz` is found by `quiz`.
    """
    found: dict[str, None] = {}
    for text in texts:
        parted = _HUMP.sub(" ", text)
        for word in (*_fold(text), *(() if parted == text else _fold(parted))):
            if len(found) == _MOST:
                return list(found)
            found[word] = None
    return list(found)


def _fold(text: str) -> Iterator[str]:
    if text.isascii():
        yield from (run[:LONGEST] for run in _RUN.findall(text.lower()))
        return
    plain = unicodedata.normalize("NFKD", text).casefold()
    # Once more: what casefold makes of some letters has accents again.
    letters = unicodedata.normalize("NFKD", plain)
    bare = "".join(letter for letter in letters if not unicodedata.combining(letter))
    for run in _RUN.findall(bare):
        for part in _ONE_BY_ONE.sub(r" \g<0> ", run).split():
            yield part[:LONGEST]
