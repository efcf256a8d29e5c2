"""Known secret values never reach a file of a run."""

import os
from collections.abc import Mapping
from pathlib import Path

import msgspec

from prime_cli.core.paths import storage_errors

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


def scrub_file(path: Path, scrub: Scrubber) -> None:
    """Scrub a text file that another process has written; raises StorageFailed."""
    if not path.exists():
        return
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    with storage_errors(path):
        try:
            changed = False
            with path.open("rb") as source, temporary.open("wb") as target:
                for line in source:
                    clean = scrub(line)
                    changed = changed or clean is not line
                    target.write(clean)
            if changed:
                temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
