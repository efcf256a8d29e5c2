"""Rollouts as the rows that TRL trains on: one for each rollout."""

import random
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class TrainingRow:
    """The ids up to the first sampled token, and the rest, with a mask over what was sampled."""

    prompt: list[int]
    completion: list[int]
    logprobs: list[float]
    mask: list[int]
    reward: float | None


def row_of(rollout: dict[str, Any], filler: int, seed: str) -> TrainingRow:
    """The row of a rollout; `filler` is a masked token for one in which nothing was sampled.

    TRL has room for one row a rollout. Of several segments one is drawn, each with equal chance, so
    that every turn is trained on.
    """
    segments = rollout["segments"]
    if not segments:
        return TrainingRow([filler], [filler], [0.0], [0], None)
    number = f"{seed} {rollout['example']} {rollout['rollout']}"
    segment = random.Random(number).choice(segments)  # noqa: S311 - a draw, no secret
    ids, spans = segment["ids"], segment["spans"]
    mask = [0] * len(ids)
    for start, end, *_ in spans:
        mask[start:end] = [1] * (end - start)
    first = spans[0][0]
    reward = rollout["reward"]
    if reward is None:
        mask = [0] * len(ids)
    return TrainingRow(ids[:first], ids[first:], segment["logprobs"][first:], mask[first:], reward)
