"""Samples of an evaluation in batches that a hub takes, in the order in which they are given."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from prime_cli.core.errors import UsageError

MOST_BYTES = 25 * 1024 * 1024
"""Of one request; what official clients keep to as well."""

_HEAD = b'{"samples":['
_TAIL = b"]}"

MOST_SAMPLE_BYTES = MOST_BYTES - len(_HEAD) - len(_TAIL)
"""Of one sample; larger ones fit into no request."""


@dataclass
class Batches:
    """The bodies of the requests, made as they are asked for, of at most `most` bytes.

    Where samples are small, a batch has at most `enough` bytes, so that less is in memory and less
    is lost with it. A sample is an object, or its JSON as bytes. `skipped` are the places (from 0)
    of those that are too large for any request, and `count` is how many others there were; both
    grow as the bodies are made. Raises UsageError for a sample that JSON cannot hold, as one with
    NaN.
    """

    samples: Iterable[Mapping[str, Any] | bytes]
    most: int = MOST_BYTES
    enough: int = MOST_BYTES
    count: int = 0
    skipped: list[int] = field(default_factory=list)

    def __iter__(self) -> Iterator[tuple[bytes, int]]:
        """Each body with the number of samples in it."""
        frame = len(_HEAD) + len(_TAIL)
        batch: list[bytes] = []
        size = frame
        for place, sample in enumerate(self.samples):
            encoded = sample if isinstance(sample, bytes) else encode_sample(sample, place)
            if frame + len(encoded) > self.most:
                self.skipped.append(place)
                continue
            if batch and size + len(encoded) + 1 > min(self.most, self.enough):
                yield _HEAD + b",".join(batch) + _TAIL, len(batch)
                batch, size = [], frame
            batch.append(encoded)
            size += len(encoded) + 1
            self.count += 1
        if batch:
            yield _HEAD + b",".join(batch) + _TAIL, len(batch)


def encode_sample(sample: Mapping[str, Any], place: int) -> bytes:
    """Compact JSON; raises UsageError, where other encoders would write null for a NaN.

    Text with a lone surrogate, which UTF-8 has no bytes for, is refused too.
    """
    try:
        text = json.dumps(sample, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        return text.encode()
    except (ValueError, TypeError, RecursionError) as error:
        raise UsageError(
            f"Sample {place} cannot be written as JSON: {error}",
            hint="leave out what is neither text, number, list nor object",
        ) from error
