"""The digest of a run's examples: a later session shows by it that they are the same ones."""

import hashlib
import json
from collections.abc import Iterable
from typing import Any

from .failures import StageFailed


class OtherExamples(Exception):
    """The first examples are not those that the run began with."""


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
        return f"the data set had {prefix} examples and has {count}"
    return f"the first {prefix} examples are others now"
