"""Rollouts as the rows that TRL trains on: one for each segment."""

from dataclasses import dataclass
from typing import Any

ROLLOUT = "rollout"
"""The column that says which rollout a row is of, by its place among those of the step."""


@dataclass(frozen=True)
class TrainingRow:
    """The ids up to the first sampled token, and the rest, with a mask over what was sampled."""

    prompt: list[int]
    completion: list[int]
    logprobs: list[float]
    mask: list[int]


def rows_of(rollout: dict[str, Any], filler: int) -> list[TrainingRow]:
    """The rows of a rollout; `filler` is a masked token for one in which nothing was sampled.

    All are masked where the rollout has no reward.
    """
    is_scored = rollout["reward"] is not None
    found = [_row_of(segment, is_scored=is_scored) for segment in rollout["segments"]]
    return found or [_masked_row(filler)]


def _row_of(segment: dict[str, Any], *, is_scored: bool) -> TrainingRow:
    ids, spans = segment["ids"], segment["spans"]
    mask = [0] * len(ids)
    for start, end, *_ in spans:
        mask[start:end] = [int(is_scored)] * (end - start)
    first = spans[0][0]
    return TrainingRow(ids[:first], ids[first:], segment["logprobs"][first:], mask[first:])


def _masked_row(filler: int) -> TrainingRow:
    return TrainingRow([filler], [filler], [0.0], [0])


def columns_of(rollouts: list[Any], rows: list[list[TrainingRow]], filler: int, count: int) -> Any:
    """What TRL takes: the `rows` of each rollout, and masked ones up to a `count` of rows, but one
    reward for each rollout.
    """
    owners = [place for place, own in enumerate(rows) for _ in own]
    flat = [row for own in rows for row in own]
    missing = count - len(flat)
    flat += [_masked_row(filler)] * missing
    return {
        "prompt_ids": [row.prompt for row in flat],
        "completion_ids": [row.completion for row in flat],
        "logprobs": [row.logprobs for row in flat],
        "env_mask": [row.mask for row in flat],
        "env_reward": [each["reward"] if each["segments"] else None for each in rollouts],
        ROLLOUT: owners + [0] * missing,
    }
