"""What the splits of an environment's data have in common, and have of a benchmark, by hash."""

import re
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Any
from unicodedata import normalize

from .examples import MOST_NAMED, SurveyedExample, digest, has_media, text_of

SHORTEST_PART = 20
"""Shorter lines, paragraphs and fields are in many examples by chance."""

_PARTS = (re.compile(r"\n\s*\n"), re.compile(r"\n"))

Splits = Mapping[str, Sequence[SurveyedExample]]


def print_of(text: str) -> str:
    """The SHA-256 of a text without regard to case and white space: NFKC, folded, single blanks."""
    folded = " ".join(normalize("NFKC", text).casefold().split())
    return sha256(folded.encode("utf-8", "replace")).hexdigest()


def find_overlap(splits: Splits, benchmark: Sequence[str]) -> dict[str, Any]:
    """Counts by split, and the first few examples behind them; `benchmark` has `print_of` texts.

    `shared` counts examples that an earlier split has too, `pairs` are (split, example, earlier
    split, its example). `known` counts those of the benchmark, `hits` are (split, example, place).
    """
    pairs = list(_shared(splits))
    places = {each: place for place, each in enumerate(benchmark)}
    hits = [
        (name, number, place)
        for name, examples in splits.items()
        for number, example in enumerate(examples if places else ())
        if (place := _place_in(example, places)) is not None
    ]
    return {
        "examples": {name: len(examples) for name, examples in splits.items()},
        "shared": _count(pair[0] for pair in pairs),
        "pairs": pairs[:MOST_NAMED],
        "known": _count(hit[0] for hit in hits),
        "hits": hits[:MOST_NAMED],
    }


def _count(names: Iterator[str]) -> dict[str, int]:
    found: dict[str, int] = {}
    for name in names:
        found[name] = found.get(name, 0) + 1
    return found


def _shared(splits: Splits) -> Iterator[tuple[str, int, str, int]]:
    seen: dict[str, tuple[str, int]] = {}
    for name, examples in splits.items():
        own = _telling(examples)
        for number, each in own.items():
            if each in seen:
                yield (name, number, *seen[each])
        for number, each in own.items():
            seen.setdefault(each, (name, number))


def _telling(examples: Sequence[SurveyedExample]) -> dict[int, str]:
    """The prints of prompts by example, without prompts that examples share with other answers."""
    prints = [_print_of_prompt(each) for each in examples]
    answers: dict[str, str] = {}
    vague = set()
    for each, example in zip(prints, examples, strict=True):
        given = digest(example.rest if example.answer in (None, "") else example.answer)
        if answers.setdefault(each, given) != given:
            vague.add(each)
    return {number: each for number, each in enumerate(prints) if each not in vague}


def _print_of_prompt(example: SurveyedExample) -> str:
    text = text_of(example.prompt)
    if has_media(example.prompt):
        return digest(example.prompt)
    return print_of(text) if text.strip() else digest(example.rest)


def _place_in(example: SurveyedExample, places: Mapping[str, int]) -> int | None:
    """Where in the benchmark an example is: as its prompt, a message, or a part of these."""
    messages = example.prompt if isinstance(example.prompt, list) else []
    asked = [each for each in messages if isinstance(each, dict) and each.get("role") != "system"]
    wholes = [text_of(example.prompt), *(text_of([each]) for each in asked)]
    parts = [part for text in wholes for pattern in _PARTS for part in pattern.split(text)]
    long = [each for each in (*parts, *_texts(example.rest)) if len(each) >= SHORTEST_PART]
    found = (places.get(print_of(each)) for each in (*wholes, *long) if each.strip())
    return next((place for place in found if place is not None), None)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _texts(each)
