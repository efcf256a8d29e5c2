"""What the policy's calls ask of the model, whichever program samples."""

import hashlib
from collections.abc import Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

STOP, LENGTH = "stop", "length"


class TooLong(ValueError):
    """A prompt that has no room in the model's context."""


@dataclass(frozen=True)
class Wanted:
    """One call: its prompt, at most how many tokens, at which temperature, and its seed.

    The answer ends with the first of the texts in `stop`, which is the last of what is sampled.
    """

    ids: list[int]
    most: int
    temperature: float
    seed: str
    stop: tuple[str, ...] = ()

    @property
    def seed_number(self) -> int:
        """The seed as a number of 63 bits."""
        digest = hashlib.blake2b(self.seed.encode(), digest_size=8).digest()
        return int.from_bytes(digest, "big") >> 1


@dataclass(frozen=True)
class Answer:
    """The sampled tokens, one log-probability for each, and why they end.

    `stop` is the text that ended them, if one of those that were asked for did.
    """

    ids: list[int]
    logprobs: list[float]
    ended: str
    stop: str | None = None


class Sampler(Protocol):
    """Samples with the current weights, on the thread that asks.

    `synced` counts the seconds in which weights were copied to where they answer.
    """

    synced: float

    def awake(self) -> AbstractContextManager[None]:
        """Within it calls can be taken, and the weights are those that were trained last."""

    def take(self, number: int, wanted: Wanted) -> None:
        """Take a call, which goes by its number; raises TooLong."""

    def work(self) -> list[tuple[int, Answer]]:
        """Go on with what was taken; returns the answers that are complete, by their numbers."""

    def drop(self, numbers: Iterable[int]) -> None:
        """Forget calls that nobody waits for any more."""
