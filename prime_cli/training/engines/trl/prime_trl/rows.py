"""Rollouts as the rows that TRL trains on: one for each rollout."""

import random
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class TrainingRow:
    """The ids up to the first sampled token, and the rest, with a mask over what was sampled."""

    prompt: list[int]
    completion: list[int]
    logprobs: list[float]
    mask: list[int]
    reward: float | None


@dataclass
class Counts:
    """What a step's rollouts were."""

    rollouts: int = 0
    errors: int = 0
    truncated: int = 0
    segments: int = 0
    forked: int = 0
    tokens_own: int = 0
    tokens_env: int = 0
    failures: list[str] = field(default_factory=list)

    def metrics(self) -> dict[str, int]:
        """As they are reported."""
        return {name: value for name, value in vars(self).items() if name != "failures"}


def row_of(rollout: dict[str, Any], counts: Counts, filler: int, seed: str) -> TrainingRow:
    """The row of a rollout; `filler` is a masked token for one in which nothing was sampled.

    TRL has room for one row a rollout. Of several segments one is drawn, each with equal chance, so
    that every turn is trained on.
    """
    counts.rollouts += 1
    counts.truncated += bool(rollout["is_truncated"])
    if rollout["error"] is not None:
        counts.errors += 1
        counts.failures.append(str(rollout["error"]["message"]))
    segments = rollout["segments"]
    if not segments:
        return TrainingRow([filler], [filler], [0.0], [0], None)
    counts.segments += len(segments)
    counts.forked += len(segments) > 1
    number = f"{seed} {rollout['example']} {rollout['rollout']}"
    segment = random.Random(number).choice(segments)  # noqa: S311 - a draw, no secret
    ids, spans = segment["ids"], segment["spans"]
    mask = [0] * len(ids)
    for start, end, *_ in spans:
        mask[start:end] = [1] * (end - start)
    first = spans[0][0]
    counts.tokens_own += sum(mask)
    counts.tokens_env += len(ids) - first - sum(mask)
    reward = rollout["reward"]
    if reward is None:
        mask = [0] * len(ids)
    return TrainingRow(ids[:first], ids[first:], segment["logprobs"][first:], mask[first:], reward)
