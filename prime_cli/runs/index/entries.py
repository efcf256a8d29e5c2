"""The index entry of a line, a record of seven 64-bit words, and an array of such records."""

import math
import struct
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator
from operator import add, eq
from typing import NamedTuple

ERROR_CLASSES = ("infra", "model", "environment", "cancelled")
OTHER_CLASS = "other"
"""Stands for a class not in ERROR_CLASSES, as another program may have written."""

RECORD = struct.Struct("=qqqqqdq")
"""offset, length, example_id, rollout, attempt, reward, flags; in native byte order."""
_WORDS = RECORD.size // 8
_OFFSET, _LENGTH, _EXAMPLE, _ROLLOUT, _ATTEMPT, _REWARD, _FLAGS = range(_WORDS)
_ERRORED, _TRUNCATED, _CLASS_SHIFT = 1, 2, 8
_CODES = {name: code for code, name in enumerate(ERROR_CLASSES, 1)}
_NO_REWARD = math.nan


class IndexEntry(NamedTuple):
    """One line of a journal or of a results.jsonl.

    `offset` and `length` (with its newline) are in bytes; `error` is the class, None for none.
    """

    offset: int
    length: int
    example_id: int
    rollout: int
    attempt: int
    reward: float | None
    error: str | None
    is_truncated: bool

    @property
    def key(self) -> tuple[int, int]:
        """The example and the rollout."""
        return self.example_id, self.rollout


def packed(
    offset: int,
    length: int,
    example_id: int,
    rollout: int,
    attempt: int,
    reward: float | None,
    error: str | None,
    is_truncated: bool,  # noqa: FBT001 - the fields of Entry, given in their order
) -> bytes:
    """The record of one line; raises struct.error if a number needs more than 64 bits."""
    flags = _TRUNCATED if is_truncated else 0
    if error is not None:
        flags |= _ERRORED | _CODES.get(error, 0) << _CLASS_SHIFT
    if reward is None or not math.isfinite(reward):  # JSON has null for those
        reward = _NO_REWARD
    return RECORD.pack(offset, length, example_id, rollout, attempt, reward, flags)


class IndexEntries:
    """Entries in the order of their lines, 56 bytes each."""

    def __init__(self, content: bytes | memoryview = b"") -> None:
        self._words = array("q")
        self.extend(content)

    def __len__(self) -> int:
        return len(self._words) // _WORDS

    def extend(self, content: bytes | memoryview) -> None:
        """Append whole records."""
        self._words.frombytes(content)

    def cut(self, count: int) -> None:
        """Keep the first `count`."""
        del self._words[count * _WORDS :]

    def content(self, start: int = 0, stop: int | None = None) -> bytes:
        """The records from number `start` to before `stop`."""
        end = None if stop is None else stop * _WORDS
        return self._words[start * _WORDS : end].tobytes()

    def __getitem__(self, number: int) -> IndexEntry:
        """Entry `number` from 0; raises IndexError."""
        start = number * _WORDS
        words = self._words[start : start + _WORDS]
        if number < 0 or not words:
            raise IndexError(number)
        offset, length, example, rollout, attempt, reward, flags = RECORD.unpack(words)
        return IndexEntry(
            offset,
            length,
            example,
            rollout,
            attempt,
            None if math.isnan(reward) else reward,
            _class(flags),
            bool(flags & _TRUNCATED),
        )

    def __iter__(self) -> Iterator[IndexEntry]:
        return (self[number] for number in range(len(self)))

    def key(self, number: int) -> tuple[int, int]:
        """The key of entry `number`; faster than reading the whole entry."""
        start = number * _WORDS
        return self._words[start + _EXAMPLE], self._words[start + _ROLLOUT]

    def reward(self, number: int) -> float | None:
        """The reward of entry `number`; faster than reading the whole entry."""
        value: float = struct.unpack(
            "=d", struct.pack("=q", self._words[number * _WORDS + _REWARD])
        )[0]
        return None if math.isnan(value) else value

    def end(self, number: int) -> int:
        """The byte after line `number`."""
        start = number * _WORDS
        return self._words[start + _OFFSET] + self._words[start + _LENGTH]

    def are_contiguous(self) -> bool:
        """Whether each line begins where the previous one ends, the first at 0."""
        offsets = self._words[_OFFSET::_WORDS]
        lengths = self._words[_LENGTH::_WORDS]
        follow = all(map(eq, offsets[1:], map(add, offsets, lengths)))
        return follow and sum(offsets[:1]) == 0 and min(lengths, default=1) > 0

    def latest(self, count: int | None = None) -> "array[int]":
        """Numbers of the last attempts, one per rollout, sorted by example and rollout.

        Of the first `count` entries, or of all. For equal attempts the later line counts.
        """
        keys = self._sort_keys()[:count]
        order = sorted(range(len(keys)), key=keys.__getitem__)
        attempts = self._words[_ATTEMPT::_WORDS]
        found = array("q")
        last = None
        for number in order:
            key = keys[number]
            if key != last:
                found.append(number)
                last = key
            elif attempts[number] >= attempts[found[-1]]:
                found[-1] = number
        return found

    def ordered(self) -> "array[int]":
        """The numbers of all entries by example and rollout, earlier lines first."""
        keys = self._sort_keys()
        return array("q", sorted(range(len(keys)), key=keys.__getitem__))

    def examples(self, numbers: Iterable[int]) -> list[int]:
        """The example ids of these entries."""
        examples = self._words[_EXAMPLE::_WORDS]
        return [examples[number] for number in numbers]

    def endings(self, numbers: Iterable[int]) -> "Counter[tuple[str | None, bool]]":
        """The number of entries for each (error class or None, is_truncated)."""
        flags = self._words[_FLAGS::_WORDS]
        counts = Counter(flags[number] for number in numbers)
        found: Counter[tuple[str | None, bool]] = Counter()
        for value, count in counts.items():
            found[_class(value), bool(value & _TRUNCATED)] += count
        return found

    def lengths(self, numbers: Iterable[int]) -> list[int]:
        """The bytes of these lines, each with its newline."""
        lengths = self._words[_LENGTH::_WORDS]
        return [lengths[number] for number in numbers]

    def marks(self, numbers: Iterable[int]) -> tuple[list[bool], list[bool]]:
        """Whether these ended in an error, and whether they are truncated."""
        flags = self._words[_FLAGS::_WORDS]
        found = [flags[number] for number in numbers]
        failed = [bool(value & _ERRORED) for value in found]
        return failed, [bool(value & _TRUNCATED) for value in found]

    def rewards(self) -> "array[float]":
        """Every entry's reward, NaN for none."""
        return array("d", self._words[_REWARD::_WORDS].tobytes())

    def _sort_keys(self) -> list[int]:
        """One number per entry that sorts as its (example_id, rollout); faster than pairs."""
        examples = self._words[_EXAMPLE::_WORDS].tolist()
        rollouts = self._words[_ROLLOUT::_WORDS].tolist()
        lowest = min(rollouts, default=0)
        size = max(rollouts, default=0) - lowest + 1
        return [e * size + r - lowest for e, r in zip(examples, rollouts, strict=True)]


def _class(flags: int) -> str | None:
    if not flags & _ERRORED:
        return None
    code = flags >> _CLASS_SHIFT
    return ERROR_CLASSES[code - 1] if 0 < code <= len(ERROR_CLASSES) else OTHER_CLASS
