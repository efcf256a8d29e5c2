"""Examples that are in two splits of the data, or in a benchmark that the user names."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from prime_cli.core.errors import UsageError
from prime_cli.core.formatting import pluralize
from prime_cli.core.paths import storage_errors
from prime_cli.evals.env_check.findings import failed, named, passed, skipped, warned
from prime_cli.runtime.protocol import Overlap
from prime_cli.runtime.worker.examples import MOST_COMPARED, text_of
from prime_cli.runtime.worker.overlap import print_of
from prime_cli.wire.check_reports import Check

FIELDS = ("prompt", "question", "problem", "text")
"""Where an object of a benchmark's file has its text, the first that it has."""

_HASH = re.compile(r"[0-9a-fA-F]{64}")


@dataclass(frozen=True)
class Benchmark:
    """Texts as `print_of` hashes them, and the place of each as `FILE:LINE`."""

    prints: tuple[str, ...] = ()
    places: tuple[str, ...] = ()


NO_BENCHMARK = Benchmark()


def read_benchmarks(files: Iterable[Path]) -> Benchmark:
    """Files with one text a line, as a JSON string, an object with one of FIELDS, or a hash.

    Raises UsageError for anything else, StorageFailed.
    """
    found = [
        (_print_in(line, f"{path}:{number}"), f"{path.name}:{number}")
        for path in files
        for number, line in _lines(path)
    ]
    return Benchmark(tuple(each for each, _ in found), tuple(place for _, place in found))


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    with storage_errors(path):
        content = path.read_bytes()
    try:
        lines = content.decode("utf-8-sig").split("\n")
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not UTF-8", hint="save it as JSON lines") from error
    told = [(number, line.strip()) for number, line in enumerate(lines, 1) if line.strip()]
    if not told:
        raise UsageError(f"{path} has no texts")
    yield from told


def _print_in(line: str, place: str) -> str:
    if _HASH.fullmatch(line):
        return line.lower()
    try:
        found = msgspec.json.decode(line)
    except msgspec.DecodeError:
        found = None
    if isinstance(found, Mapping):
        found = next((found[name] for name in FIELDS if found.get(name)), None)
    text = found if isinstance(found, str) else _asked(found)
    if not text.strip():
        fields = " or ".join(f"`{name}`" for name in FIELDS)
        raise UsageError(
            f"{place} is not a text",
            hint=f"a line is a SHA-256, a JSON string, or an object with {fields}",
        )
    return print_of(text)


def _asked(messages: Any) -> str:
    """The newest message of the user in a prompt of messages."""
    every = messages if isinstance(messages, list) else []
    asked = [each for each in every if isinstance(each, dict) and each.get("role") == "user"]
    return text_of(asked[-1:])


def check_splits(overlap: Overlap) -> Check:
    """`splits`: no example is in two of them."""
    if overlap.why is not None:
        return skipped("splits", f"A split cannot be read: {overlap.why}")
    read = ", ".join(f"{name} {_count(count)}" for name, count in overlap.examples.items())
    if len(overlap.examples) < 2:  # noqa: PLR2004
        return passed("splits", "The data has one split", examples=overlap.examples)
    if not overlap.shared:
        return passed("splits", f"No example is in two splits ({read})", examples=overlap.examples)
    first = overlap.pairs[0]
    words = "; ".join(
        f"{_share(split, count, overlap)} are in another split too: "
        f"{named(number for name, number, _, _ in overlap.pairs if name == split)}"
        for split, count in overlap.shared.items()
    )
    return warned(
        "splits",
        f"{words}. Example {first[1]} of `{first[0]}` is {first[3]} of `{first[2]}`",
        "take them out of one: on what was trained on, an evaluation measures memory",
        shared=overlap.shared,
        examples=overlap.examples,
        first=overlap.pairs,
    )


def check_benchmark(overlap: Overlap, benchmark: Benchmark) -> Check:
    """`benchmark`: the data has no example of it."""
    if not benchmark.prints:
        return skipped("benchmark", "None was named (`--benchmark FILE`)")
    if overlap.why is not None:
        return skipped("benchmark", f"A split cannot be read: {overlap.why}")
    if not overlap.known:
        words = f"The data has none of its {pluralize(len(benchmark.prints), 'text')}"
        return passed("benchmark", words, examples=overlap.examples)
    words = "; ".join(
        f"{_share(split, count, overlap)} are in the benchmark: "
        f"{named(number for name, number, _ in overlap.hits if name == split)}"
        for split, count in overlap.known.items()
    )
    _, example, place = overlap.hits[0]
    return failed(
        "benchmark",
        f"{words}. Example {example} is {benchmark.places[place]}",
        "take them out of what is trained on, or report no score of that benchmark",
        known=overlap.known,
        texts=len(benchmark.prints),
        first=[[split, number, benchmark.places[at]] for split, number, at in overlap.hits],
    )


def _share(split: str, count: int, overlap: Overlap) -> str:
    of = f" of `{split}`" if split else ""
    return f"{count:,} of {_count(overlap.examples[split])} examples{of}"


def _count(count: int) -> str:
    return f"the first {count:,}" if count == MOST_COMPARED else f"{count:,}"
