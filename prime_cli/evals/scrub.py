"""Known secret values never reach a file of a run."""

from collections.abc import Mapping

import msgspec

_SHORTEST = 6
"""Shorter values (`x`, `EMPTY`, `0`) are placeholders; replacing them would spoil the text."""


class Scrubber:
    """Replaces each secret value, also in its JSON-escaped form, by `[NAME]`."""

    def __init__(self, secrets: Mapping[str, str]) -> None:
        pairs: dict[bytes, bytes] = {}
        for name, value in secrets.items():
            if len(value) >= _SHORTEST:
                mark = f"[{name}]".encode()
                pairs[value.encode()] = mark
                pairs[msgspec.json.encode(value)[1:-1]] = mark
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
