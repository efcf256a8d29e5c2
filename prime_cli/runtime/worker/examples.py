"""The examples of a run: which they are, their fingerprint, a survey of them without a model."""

import hashlib
import json
import random
import re
from collections.abc import Iterable
from typing import Any, NamedTuple

from .failures import StageFailed
from .jsonable import plain

Examples = dict[int, Any]
"""The examples of a run in its order, by their number in the dataset (if shuffled, in that)."""


class NoSuchExample(Exception):
    """A number that no example has."""


def read_most(n: int, options: dict[str, Any]) -> int:
    """How many examples are read to choose from; -1 for all."""
    if options.get("examples"):
        return max(_numbers(options["examples"])) + 1
    return n if options.get("shuffle") is None else -1


def choose(read: Examples, n: int, options: dict[str, Any]) -> Examples:
    """Those of the flags `--examples`, then `--shuffle`, then `-n`, out of the first ones.

    Raises StageFailed("examples") for a number that no example has.
    """
    chosen, seed = read, options.get("shuffle")
    if options.get("examples"):
        numbers = _numbers(options["examples"])
        missing = [number for number in numbers if number not in read]
        if missing:
            raise StageFailed("examples", NoSuchExample(_out_of_range(missing[0], len(read))))
        chosen = {number: read[number] for number in numbers}
    if seed is not None:
        # Not by verifiers: each release draws in its own way, and the first n of a larger run
        # must be those of a smaller one.
        order = list(chosen)
        random.Random(seed).shuffle(order)  # noqa: S311 nothing secret
        drawn = [(number, chosen[number]) for number in order]
        chosen = dict(drawn) if chosen is not read else dict(enumerate(row for _, row in drawn))
    return chosen if n < 0 else dict(list(chosen.items())[:n])


def part_of(numbers: list[int], options: dict[str, Any]) -> list[int]:
    """Those of the flag `--shard I/N`; `prime_cli.runs.plan.Shard` too."""
    if not options.get("shard"):
        return numbers
    number, _, count = options["shard"].partition("/")
    return numbers[int(number) - 1 :: int(count)]


def _numbers(text: str) -> list[int]:
    """The numbers of `3,7,10-20`, ascending; `prime_cli.runs.plan.example_numbers` too."""
    spans = (part.partition("-") for part in text.split(","))
    return [number for low, _, high in spans for number in range(int(low), int(high or low) + 1)]


def _out_of_range(number: int, count: int) -> str:
    there = "1 example, number 0" if count == 1 else f"{count} examples, numbered 0 to {count - 1}"
    return f"has {there}, and {number} was requested"


class OtherExamples(Exception):
    """The first examples differ from those that the run began with."""


def line_of(example: Any) -> bytes:
    """The bytes that one example adds to a fingerprint."""
    return json.dumps(example, sort_keys=True).encode() + b"\n"


def fingerprint(lines: Iterable[bytes], prefix: int, expected: str | None) -> str:
    """The sha256 of all `lines`.

    Raises StageFailed("data") where that of the first `prefix` is not the `expected` one.
    """
    digest = hashlib.sha256()
    count, before = 0, None
    for line in lines:
        digest.update(line)
        count += 1
        if count == prefix:
            before = digest.hexdigest()
    if expected is not None and before != expected:
        raise StageFailed("data", OtherExamples(_difference(prefix, count)))
    return digest.hexdigest()


def _difference(prefix: int, count: int) -> str:
    if count < prefix:
        return f"the data set had {prefix} examples and now has {count}"
    return f"the first {prefix} examples have changed"


SHORTEST_ANSWER = 8
"""Shorter answers (a letter, a number, a name) occur in prompts by chance."""
MOST_NAMED = 10
"""Examples named for each finding; all are counted."""
MOST_COMPARED = 100_000
"""Examples of each split that are compared with the others."""

OPTION = re.compile(r"^\s*(?:\(?\w{1,2}[).:]|[-*•])\s+(.+)$", re.MULTILINE)
FEWEST_OPTIONS = 2


class SurveyedExample(NamedTuple):
    """The prompt of an example, its gold answer, and the other fields that distinguish it."""

    prompt: Any
    answer: Any
    rest: Any = None


def survey(examples: Iterable[SurveyedExample]) -> dict[str, Any]:
    """Counts of findings, with the indices of their first few examples.

    `empty` prompts have no content; `duplicates` equal an earlier example, `conflicts` have its
    prompt and another answer; `leaks` contain their answer verbatim; `answered` have a gold answer.
    A prompt of None is not empty: the environment provides it.
    """
    found: dict[str, list[int]] = {name: [] for name in ("empty", "duplicates", "conflicts")}
    found["leaks"] = []
    seen: set[str] = set()
    answers: dict[str, str] = {}
    count = answered = 0
    for index, example in enumerate(examples):
        count += 1
        answered += example.answer not in (None, "")
        whole, question = digest(example), digest([example.prompt, example.rest])
        given = digest(example.answer)
        if whole in seen:
            found["duplicates"].append(index)
        elif answers.get(question, given) != given:
            found["conflicts"].append(index)
        seen.add(whole)
        answers.setdefault(question, given)
        if example.prompt is not None and is_empty(example.prompt):
            found["empty"].append(index)
        if holds_answer(text_of(example.prompt), example.answer):
            found["leaks"].append(index)
    counts = {name: len(indices) for name, indices in found.items()}
    named = {name: indices[:MOST_NAMED] for name, indices in found.items()}
    return {"examples": count, "answered": answered, "counts": counts, "named": named}


def holds_answer(prompt: str, answer: Any) -> bool:
    """Whether the prompt contains the answer verbatim, other than as one of its options.

    Letter case and white space are ignored, and so are answers below `SHORTEST_ANSWER` characters
    or without a letter.
    """
    if not isinstance(answer, str):
        return False
    wanted = _folded(answer)
    if len(wanted) < SHORTEST_ANSWER or not any(map(str.isalpha, wanted)):
        return False
    if not re.search(rf"(?<!\w){re.escape(wanted)}(?!\w)", _folded(prompt)):
        return False
    options = [_folded(option) for option in OPTION.findall(prompt)]
    is_choice = len(options) >= FEWEST_OPTIONS and any(wanted in option for option in options)
    return not is_choice


def is_empty(prompt: Any) -> bool:
    """Whether a prompt has neither text nor media."""
    if isinstance(prompt, str):
        return not prompt.strip()
    return not text_of(prompt).strip() and not has_media(prompt)


def has_media(prompt: Any) -> bool:
    """Whether a message of a prompt has a part that is not text."""
    return isinstance(prompt, list) and any(map(_has_media, prompt))


def text_of(prompt: Any) -> str:
    """All text of a prompt: a string, or messages whose content is a string or parts."""
    if isinstance(prompt, str):
        return prompt
    if not isinstance(prompt, list):
        return ""
    return "\n".join(text for message in prompt for text in _texts(message))


def digest(value: Any) -> str:
    """The sha256 of a value as JSON."""
    return hashlib.sha256(json.dumps(plain(value), sort_keys=True).encode()).hexdigest()


def _texts(message: Any) -> list[str]:
    content = message.get("content") if isinstance(message, dict) else None
    parts = content if isinstance(content, list) else [{"text": content}]
    texts = [part.get("text") for part in parts if isinstance(part, dict)]
    return [text for text in texts if isinstance(text, str)]


def _has_media(message: Any) -> bool:
    content = message.get("content") if isinstance(message, dict) else None
    if not isinstance(content, list):
        return False
    return any(
        isinstance(part, dict) and part.get("type") not in (None, "text") for part in content
    )


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())
