"""The word that was meant where a command or an option is not known."""

import difflib
from collections.abc import Collection

_SHORTEST = 3
"""Letters of a beginning that say what was meant."""


def nearest_word(word: str, known: Collection[str]) -> str | None:
    """The first of `known` that begins with `word`, else the one most like it, if any is.

    `--gpu` is rather `--gpu-type` than `--vcpus`, and `avail` rather `availability` than `eval`.
    """
    if len(word.lstrip("-")) >= _SHORTEST:
        begun = next((each for each in known if each.startswith(word)), None)
        if begun is not None:
            return begun
    return next(iter(difflib.get_close_matches(word, known, n=1)), None)
