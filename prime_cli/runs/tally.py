"""The scores of a run in memory: all that a summary needs, without transcripts.

A rollout takes about a hundred bytes plus eight per metric, whatever the size of its completion, so
a run of a million rollouts fits.
"""

import math
from array import array
from collections import Counter
from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple

from prime_cli.runs.rows import (
    REASONS,
    AskedAgain,
    Failure,
    Row,
    Step,
    fails_in_own_code,
    lacks_capability,
    next_step,
    numeric,
    reason_of,
)

RolloutKey = tuple[int, int]
"""(example_id, rollout)."""

_NONE = math.nan
_TRUNCATED = 1
_AGAIN = {reason: 2 << bit for bit, reason in enumerate(REASONS)}
_OWN, _LACKING = 64, 128
_STEPS: tuple[Step | None, ...] = (None, *Step)
_CANCELLED = _STEPS.index(Step.CANCELLED)
_ROLLOUT_BITS = 32
_ROLLOUTS = (1 << _ROLLOUT_BITS) - 1


class Attempt(NamedTuple):
    """The last attempt at a rollout, numbered from 1; `step` is what follows an error.

    `own`: the environment's code raised; `lacking`: it wanted what prime does not have.
    """

    pair: RolloutKey
    number: int
    step: Step | None
    own: bool = False
    lacking: bool = False

    @property
    def scored(self) -> bool:
        return self.step is None


class Tally:
    """Scores by (example_id, rollout); a later attempt replaces an earlier one."""

    def __init__(self) -> None:
        # One slot per rollout, in columns; a key is one number that sorts as the pair does.
        self._slots: dict[int, int] = {}
        self._attempts = array("q")
        self._rewards = array("d")
        self._flags = bytearray()
        self._steps = bytearray()
        self._errors = array("l")
        self._metrics: dict[str, array[float]] = {}
        self._failures = _Failures()
        self._total = 0.0
        self._scored = 0
        self.cancelled = 0
        """Rollouts that a person has cancelled."""

    def add(self, row: Row) -> bool:
        """Count `row`, unless a later attempt at the same rollout is already counted.

        Returns whether it is the first row of its attempt.
        """
        key = (row.example_id << _ROLLOUT_BITS) + row.rollout
        slot = self._slots.get(key)
        if slot is None:
            self._append(key, row)
            return True
        before = self._attempts[slot]
        if before < row.attempt or row.again:
            self._note_asked_again(slot, row)
        if before > row.attempt:
            return False
        self._replace(slot, row)
        return before < row.attempt

    def find(self, pair: RolloutKey) -> Attempt | None:
        """The last attempt at a rollout; None before its first has ended."""
        slot = self._slots.get((pair[0] << _ROLLOUT_BITS) + pair[1])
        return None if slot is None else self._attempt(pair, slot)

    def _append(self, key: int, row: Row) -> None:
        slot = self._slots[key] = len(self._attempts)
        self._attempts.append(row.attempt)
        self._rewards.append(_NONE)
        self._flags.append(0)
        self._steps.append(0)
        self._errors.append(-1)
        for column in self._metrics.values():
            column.append(_NONE)
        self._note_asked_again(slot, row, is_first=True)
        self._fill(slot, row)

    def _note_asked_again(self, slot: int, row: Row, *, is_first: bool = False) -> None:
        reason = reason_of(row, self._failures.get(self._errors[slot]), is_first=is_first)
        if reason is not None:
            self._flags[slot] |= _AGAIN[reason]

    def _replace(self, slot: int, row: Row) -> None:
        before = self._rewards[slot]
        if not math.isnan(before):
            self._total -= before
            self._scored -= 1
        self._failures.forget(self._errors[slot])
        self.cancelled -= self._steps[slot] == _CANCELLED
        for column in self._metrics.values():
            column[slot] = _NONE
        self._attempts[slot] = row.attempt
        self._fill(slot, row)

    def _fill(self, slot: int, row: Row) -> None:
        scored = row.reward is not None
        self._rewards[slot] = _NONE if row.reward is None else row.reward
        flags = self._flags[slot] & ~(_TRUNCATED | _OWN | _LACKING) | bool(row.is_truncated)
        lacking = row.error is not None and lacks_capability(row.error)
        own = _OWN if fails_in_own_code(row) else 0
        self._flags[slot] = flags | (_LACKING if lacking else own)
        self._steps[slot] = _STEPS.index(next_step(row))
        pair, is_cancelled = (row.example_id, row.rollout), self._steps[slot] == _CANCELLED
        self.cancelled += is_cancelled
        failure = None if is_cancelled else row.error
        self._errors[slot] = -1 if failure is None else self._failures.count(failure, pair)
        for name, value in numeric(row.metrics).items() if scored else ():
            self._column(name)[slot] = value
        if row.reward is not None:
            self._total += row.reward
            self._scored += 1

    def _column(self, name: str) -> "array[float]":
        column = self._metrics.get(name)
        if column is None:
            column = self._metrics[name] = array("d", [_NONE]) * len(self._attempts)
        return column

    @property
    def running_mean(self) -> float | None:
        """The mean reward so far, without errors; for the progress line."""
        return self._total / self._scored if self._scored else None

    @property
    def finished(self) -> int:
        """Rollouts with a score or an error, and cancelled ones."""
        return len(self._attempts)

    @property
    def scored(self) -> int:
        """Rollouts with a reward."""
        return self._scored

    @property
    def errored(self) -> int:
        """Rollouts that ended in an error."""
        return len(self._attempts) - self._scored - self.cancelled

    @property
    def truncated(self) -> int:
        """Rollouts whose model answer was cut short."""
        return sum(flags & _TRUNCATED for flags in self._flags)

    @property
    def asked_again(self) -> AskedAgain:
        """The rollouts whose model was asked more than once, by reason."""
        counts = {
            reason: sum(bool(flags & bit) for flags in self._flags)
            for reason, bit in _AGAIN.items()
        }
        asked = sum(_AGAIN.values())
        return AskedAgain(sum(bool(flags & asked) for flags in self._flags), **counts)

    def attempts(self) -> Iterator[Attempt]:
        """The last attempt at every rollout, in order."""
        for pair, slot in self._ordered():
            yield self._attempt(pair, slot)

    def _attempt(self, pair: RolloutKey, slot: int) -> Attempt:
        own, lacking = (bool(self._flags[slot] & bit) for bit in (_OWN, _LACKING))
        return Attempt(pair, self._attempts[slot], _STEPS[self._steps[slot]], own, lacking)

    def rewards(self) -> "array[float]":
        """Every reward, in the order of examples and rollouts."""
        return array("d", (reward for _, reward in self._scores() if reward is not None))

    def metrics(self) -> dict[str, "array[float]"]:
        """Each metric's values over the scored rollouts."""
        order = array("q", (slot for _, slot in self._ordered()))
        found = {
            name: array("d", (column[slot] for slot in order if not math.isnan(column[slot])))
            for name, column in self._metrics.items()
        }
        return {name: values for name, values in found.items() if values}

    def by_rollout(self) -> dict[int, list[float | None]]:
        """Rewards of each rollout index over the examples; None if a rollout errored."""
        found: dict[int, list[float | None]] = {}
        for (_, rollout), reward in self._scores():
            found.setdefault(rollout, []).append(reward)
        return dict(sorted(found.items()))

    def by_example(self) -> "list[array[float]]":
        """The rewards of each example, without errored rollouts."""
        scored = ((pair[0], reward) for pair, reward in self._scores() if reward is not None)
        return [
            array("d", (reward for _, reward in same))
            for _, same in groupby(scored, key=itemgetter(0))
        ]

    def errors(self) -> list[tuple[Failure, int]]:
        """One failure per class and type, the first one seen, and its count; most common first."""
        return self._failures.most_common()

    def _scores(self) -> Iterator[tuple[RolloutKey, float | None]]:
        for pair, slot in self._ordered():
            reward = self._rewards[slot]
            yield pair, None if math.isnan(reward) else reward

    def _ordered(self) -> Iterator[tuple[RolloutKey, int]]:
        for key in sorted(self._slots):
            yield (key >> _ROLLOUT_BITS, key & _ROLLOUTS), self._slots[key]


class _Failures:
    """The count of each kind of failure, and one example each: not all tracebacks."""

    def __init__(self) -> None:
        self._codes: dict[tuple[str, str], int] = {}
        self._first: list[tuple[RolloutKey, Failure]] = []
        self._counts: Counter[int] = Counter()

    def count(self, failure: Failure, pair: RolloutKey) -> int:
        """Count the `failure` of the rollout `pair`; returns its kind's code."""
        code = self._codes.setdefault((failure.kind, failure.type), len(self._first))
        if code == len(self._first):
            self._first.append((pair, failure))
        elif pair < self._first[code][0] or not self._counts[code]:
            self._first[code] = pair, failure
        self._counts[code] += 1
        return code

    def get(self, code: int) -> Failure | None:
        """One of kind `code`, of its class and type; None for -1."""
        return None if code < 0 else self._first[code][1]

    def forget(self, code: int) -> None:
        """One fewer of kind `code`; -1 is no kind."""
        if code >= 0:
            self._counts[code] -= 1

    def most_common(self) -> list[tuple[Failure, int]]:
        """Most frequent first; equally frequent ones by first occurrence."""
        there = [(code, count) for code, count in self._counts.items() if count]
        there.sort(key=lambda each: (-each[1], self._first[each[0]][0]))
        return [(self._first[code][1], count) for code, count in there]
