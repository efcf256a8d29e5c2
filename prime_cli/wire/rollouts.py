"""What trainers get of rollouts: one line of JSON each, from `prime rollouts`."""

from typing import Any

import msgspec


class Span(msgspec.Struct, array_like=True, frozen=True):
    """The tokens from `start` up to `end` of a segment were sampled in one turn.

    `version` is that of the weights; `finish_reason` is what the server gave.
    """

    start: int
    end: int
    version: int = 0
    finish_reason: str | None = None


class Segment(msgspec.Struct, kw_only=True):
    """One training row: all token `ids` in order, and for each its log-probability in nats.

    What lies in a span was sampled by the policy. The rest is the prompt, or was added by the
    environment; its log-probabilities are 0.0, and a trainer masks it.
    """

    ids: list[int]
    logprobs: list[float]
    spans: list[Span]


class RolloutFailure(msgspec.Struct, frozen=True, rename={"kind": "class"}):
    """Why there is no reward; `kind` (`class` in JSON) is infra, model or environment."""

    kind: str
    type: str
    message: str


class TrainingRollout(msgspec.Struct, kw_only=True):
    """One finished rollout; `reward` is null exactly when `error` is not.

    Several `segments` mean that a later prompt did not continue the earlier tokens. `timing` is in
    seconds, `usage` in tokens. `messages` are the prompt and completion as chat messages; null
    where they were not asked for, or the environment has none.
    """

    example: int
    rollout: int
    attempt: int = 1
    reward: float | None = None
    metrics: dict[str, Any] = {}
    error: RolloutFailure | None = None
    stop_condition: str | None = None
    is_truncated: bool = False
    timing: dict[str, Any] = {}
    usage: dict[str, Any] | None = None
    segments: list[Segment] = []
    messages: list[Any] | None = None
