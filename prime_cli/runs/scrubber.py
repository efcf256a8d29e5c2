"""Known secret values never reach a file of a run."""

import json
from collections.abc import Iterator, Mapping
from urllib.parse import quote, quote_plus

_SHORTEST = 6
"""Shorter values (`x`, `EMPTY`, `0`) are placeholders; replacing them would spoil the text."""
_SHORTEST_LINE = 16
"""Shorter lines of a value of several are words (`-----`), not keys."""


class Scrubber:
    """Replaces each secret value by `[NAME]`, in every form in which programs print one.

    These are the value itself, as JSON (also within a text that is JSON) and as Python write it,
    in an address, and each line of one that has several. What is made of a value otherwise, such as
    base64, is not known for what it is.
    """

    def __init__(self, secrets: Mapping[str, str]) -> None:
        pairs = {
            form.encode("utf-8", "surrogateescape"): f"[{name}]".encode()
            for name, value in secrets.items()
            for form in _forms(value)
        }
        # The longest first: a key may contain another one.
        self._pairs = sorted(pairs.items(), key=lambda pair: len(pair[0]), reverse=True)

    def __call__(self, content: bytes) -> bytes:
        for value, mark in self._pairs:
            if value in content:
                content = content.replace(value, mark)
        return content

    def text(self, content: str) -> str:
        """The same for text that goes to the terminal."""
        return self(content.encode("utf-8", "surrogateescape")).decode("utf-8", "surrogateescape")


def _forms(value: str) -> Iterator[str]:
    """How a secret may be written; nothing for a placeholder."""
    # Clients drop the line break that a file's last line ends in.
    for part in (value, value.strip(), *_long_lines(value)):
        if len(part) < _SHORTEST:
            continue
        yield part
        yield repr(part)[1:-1]
        yield quote(part, errors="surrogateescape")
        yield quote(part, safe="", errors="surrogateescape")
        yield quote_plus(part, errors="surrogateescape")
        for written in (json.dumps(part)[1:-1], json.dumps(part, ensure_ascii=False)[1:-1]):
            yield written
            yield json.dumps(written)[1:-1]


def _long_lines(value: str) -> Iterator[str]:
    lines = [line.strip() for line in value.splitlines()]
    if len(lines) > 1:
        yield from (line for line in lines if len(line) >= _SHORTEST_LINE)
