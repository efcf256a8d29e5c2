"""The scores of a run held in memory: all that a summary needs and no transcript.

A row weighs a few hundred bytes here whatever its completion weighs, so that a run of 100,000
rollouts fits.
"""

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from prime_cli.evals.rows import Failure, Row, numeric

Pair = tuple[int, int]
"""(example_id, rollout)."""


class Attempt(NamedTuple):
    """The last attempt at a rollout, by its number from 1."""

    pair: Pair
    number: int
    scored: bool


class Score(NamedTuple):
    """What is kept of one rollout's last attempt."""

    attempt: int
    reward: float | None
    metrics: dict[str, float]
    error: Failure | None
    truncated: bool


class Tally:
    """Scores by (example_id, rollout); a later attempt replaces an earlier one."""

    def __init__(self) -> None:
        self._scores: dict[Pair, Score] = {}
        self._total = 0.0
        self._scored = 0

    def add(self, row: Row) -> bool:
        """Count `row`, unless a later attempt at the same rollout is counted already.

        Whether it is the first row of its attempt.
        """
        key = (row.example_id, row.rollout)
        known = self._scores.get(key)
        if known is not None and known.attempt > row.attempt:
            return False
        self._running(known, -1)
        score = Score(row.attempt, row.reward, numeric(row.metrics), row.error, row.is_truncated)
        self._scores[key] = score
        self._running(score, 1)
        return known is None or known.attempt < row.attempt

    def _running(self, score: Score | None, sign: int) -> None:
        if score is not None and score.reward is not None:
            self._total += sign * score.reward
            self._scored += sign

    @property
    def running_mean(self) -> float | None:
        """The mean reward so far, errors left out; for the progress line."""
        return self._total / self._scored if self._scored else None

    @property
    def finished(self) -> int:
        """Rollouts with a score or an error."""
        return len(self._scores)

    @property
    def scored(self) -> int:
        """Rollouts with a reward."""
        return self._scored

    @property
    def errored(self) -> int:
        """Rollouts that ended in an error."""
        return len(self._scores) - self._scored

    @property
    def truncated(self) -> int:
        """Rollouts whose model answer was cut short."""
        return sum(score.truncated for score in self._scores.values())

    def attempts(self) -> Iterator[Attempt]:
        """The last attempt at every rollout, in their order."""
        for pair, score in self._ordered():
            yield Attempt(pair, score.attempt, score.reward is not None)

    def rewards(self) -> list[float]:
        """Every reward, in the order of examples and rollouts."""
        return [score.reward for _, score in self._ordered() if score.reward is not None]

    def metrics(self) -> dict[str, list[float]]:
        """Each metric's values over the scored rollouts."""
        found: dict[str, list[float]] = {}
        for _, score in self._ordered():
            if score.reward is not None:
                for name, value in score.metrics.items():
                    found.setdefault(name, []).append(value)
        return found

    def by_rollout(self) -> dict[int, list[float | None]]:
        """Rewards of each rollout index over the examples; None where a rollout errored."""
        found: dict[int, list[float | None]] = {}
        for (_, rollout), score in self._ordered():
            found.setdefault(rollout, []).append(score.reward)
        return dict(sorted(found.items()))

    def by_example(self) -> list[list[float]]:
        """The rewards of each example, those of errored rollouts left out."""
        found: dict[int, list[float]] = {}
        for (example, _), score in self._ordered():
            if score.reward is not None:
                found.setdefault(example, []).append(score.reward)
        return list(found.values())

    def errors(self) -> list[tuple[Failure, int]]:
        """One failure per class and type, the first one met, and how often; most frequent first."""
        first: dict[tuple[str, str], Failure] = {}
        counts: Counter[tuple[str, str]] = Counter()
        for _, score in self._ordered():
            if score.error is not None:
                key = (score.error.kind, score.error.type)
                first.setdefault(key, score.error)
                counts[key] += 1
        return [(first[key], count) for key, count in counts.most_common()]

    def _ordered(self) -> Iterator[tuple[tuple[int, int], Score]]:
        return iter(sorted(self._scores.items(), key=lambda item: item[0]))
