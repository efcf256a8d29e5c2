"""Filter rollouts by step, reward, outcome and text; a run is searched incrementally."""

import json
import operator
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Protocol

from prime_cli.core.errors import UsageError
from prime_cli.evals.viewer.grid import Layout
from prime_cli.runs.index.entries import IndexEntry
from prime_cli.runs.outcomes import parse_outcome
from prime_cli.runs.rows import Row
from prime_cli.runs.run_index import RunIndex

Accepts = Callable[[float | None], bool]

_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_BOUND = re.compile(rf"(<=|>=|<|>|=|)\s*({_NUMBER})")
_SPAN = re.compile(rf"({_NUMBER})\s*\.\.\s*({_NUMBER})")
_COMPARES: dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "=": operator.eq,
    "": operator.eq,
}


@dataclass(frozen=True)
class Filter:
    """All conditions must match; `reward` is in the syntax of `parse_reward`, `text` is plain.

    `only` is one of `OUTCOMES`, `step` in the syntax of `parse_step`. Case is ignored.
    """

    reward: str = ""
    only: str = ""
    text: str = ""
    step: str = ""

    def accepts(self) -> Callable[[IndexEntry], bool]:
        """What the entry of a line can tell; raises UsageError for an invalid reward."""
        reward = parse_reward(self.reward) if self.reward.strip() else None
        return lambda entry: reward is None or reward(entry.reward)


def parse_reward(text: str) -> Accepts:
    """`0.5`, `>0.5`, `<=0.5`, `0.2..0.8` (both ends too) or `none`; raises UsageError."""
    if text.strip().lower() == "none":
        return lambda reward: reward is None
    accepts = _parse_range(text)
    if accepts is None:
        raise UsageError(
            f"`{text}` is not a range of rewards", hint="write 0.5, >0.5, <=0.5, 0.2..0.8 or none"
        )
    return accepts


def parse_step(text: str) -> Accepts:
    """`3`, `>=10` or `10..20` (both ends too); raises UsageError."""
    accepts = _parse_range(text)
    if accepts is None:
        raise UsageError(f"`{text}` is not a range of steps", hint="write 3, >=10 or 10..20")
    return accepts


def _parse_range(text: str) -> Accepts | None:
    wanted = text.strip()
    if span := _SPAN.fullmatch(wanted):
        low, high = sorted(map(float, span.groups()))
        return lambda value: value is not None and low <= value <= high
    if bound := _BOUND.fullmatch(wanted):
        compare, limit = _COMPARES[bound[1]], float(bound[2])
        return lambda value: value is not None and compare(value, limit)
    return None


class LineCondition(Protocol):
    """What only the line of a rollout can tell."""

    def may_hold(self, line: bytes) -> bool:
        """Whether `line` must be decoded to know."""
        ...

    def holds(self, row: Row) -> bool: ...


class TextSearch:
    """Finds `text` in rows; most lines are ruled out without decoding them.

    Without `ignore_case` also those that have it only in another case.
    """

    def __init__(self, text: str, *, ignore_case: bool = True) -> None:
        self._wanted = text.casefold()
        self._ignore_case = ignore_case
        # Writers of JSON differ in how they escape other letters: those lines are decoded.
        plain = text.isascii() and text.isprintable()
        escaped = json.dumps(text.lower() if ignore_case else text)[1:-1]
        self._needle = escaped.encode() if plain else None

    def may_hold(self, line: bytes) -> bool:
        return self._needle is None or self._needle in (line.lower() if self._ignore_case else line)

    def holds(self, row: Row) -> bool:
        """Whether `row` has the text in its messages, answer, error or other values."""
        failure = row.error
        told = (failure.kind, failure.type, failure.message, failure.traceback) if failure else ()
        values = (row.prompt, row.completion, row.answer, row.info, row.task, row.state)
        return any(
            self._wanted in text.casefold() for value in (*values, told) for text in _texts(value)
        )


_STEP = re.compile(rb'"step":\s*(-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)')


class StepSearch:
    """Finds rollouts of the steps of a training, which their state names."""

    def __init__(self, text: str) -> None:
        self._accepts = parse_step(text)

    def may_hold(self, line: bytes) -> bool:
        return any(map(self._accepts, map(float, _STEP.findall(line))))

    def holds(self, row: Row) -> bool:
        return self._accepts(step_of(row))


def step_of(row: Row) -> int | float | None:
    """The step of a training that a rollout was asked for in; None in an evaluation."""
    step = row.state.get("step")
    return step if isinstance(step, int | float) and not isinstance(step, bool) else None


def has_steps(index: RunIndex) -> bool:
    """Whether the rollouts are those of a training; raises StorageFailed, UsageError."""
    return len(index) > 0 and step_of(index.read_row(0)) is not None


def _texts(value: Any) -> Iterator[str]:
    """Every text in a JSON value, without keys."""
    waiting = [value]
    while waiting:
        value = waiting.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, dict):
            waiting.extend(value.values())
        elif isinstance(value, list | tuple):
            waiting.extend(value)


_LINES = 64
"""Lines between two checks of the clock."""


class Search:
    """The lines of a run that match `wanted`; the next `advance` searches new lines.

    Raises UsageError for an invalid filter.
    """

    def __init__(self, wanted: Filter) -> None:
        self._accepts = wanted.accepts()
        self._only = parse_outcome(wanted.only)
        self._conditions: list[LineCondition] = []
        if wanted.step.strip():
            self._conditions.append(StepSearch(wanted.step))
        if wanted.text:
            self._conditions.append(TextSearch(wanted.text))
        self._all = replace(wanted, only="") == Filter()
        self.is_of_steps = bool(wanted.step.strip())
        """Whether it is among the rollouts of some steps alone."""
        self._found: set[int] = set()
        self.searched = 0

    def found(self, layout: Layout) -> frozenset[int] | None:
        """The matching lines so far, of those in `layout`; None for an empty filter."""
        found = None if self._all else frozenset(self._found)
        if not self._only:
            return found
        having = layout.having(self._only)
        return having if found is None else having & found

    @property
    def count(self) -> int:
        """The number of matching lines so far."""
        return len(self._found)

    def advance(self, index: RunIndex, seconds: float) -> None:
        """Search `index` for about this long; raises StorageFailed and UsageError."""
        if self._all:
            self.searched = max(self.searched, len(index))
        until = time.monotonic() + seconds
        while self.searched < len(index) and time.monotonic() < until:
            self._look_at(index, range(self.searched, min(self.searched + _LINES, len(index))))

    def _look_at(self, index: RunIndex, numbers: range) -> None:
        passed = [number for number in numbers if self._accepts(index.entries[number])]
        self._found.update(self._having(index, passed) if self._conditions else passed)
        self.searched = numbers.stop

    def _having(self, index: RunIndex, numbers: list[int]) -> list[int]:
        lines = index.lines(numbers)
        return [number for number, line in lines if self._holds(index, number, line)]

    def _holds(self, index: RunIndex, number: int, line: bytes) -> bool:
        if not all(condition.may_hold(line) for condition in self._conditions):
            return False
        row = index.decode(line, number, index.entries[number])
        return all(condition.holds(row) for condition in self._conditions)
