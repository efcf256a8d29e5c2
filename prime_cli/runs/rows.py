"""One finished rollout as the journal keeps it."""

from typing import Annotated, Any

import msgspec

SCHEMA = 1
"""Of the journal's lines and of run.json; readers accept this one and the one before."""


SpentBy = dict[str, dict[str, dict[str, Any]]]
"""What was spent, as it is written: by role and model, `runs/spending.py` says what is counted."""

LARGEST = 1e100
"""Larger rewards and metrics say nothing, and their squares could not be added up."""

Index = Annotated[int, msgspec.Meta(gt=-(1 << 62), lt=1 << 62)]
MOST_ATTEMPTS = 1 << 31
Ordinal = Annotated[int, msgspec.Meta(ge=0, lt=MOST_ATTEMPTS)]
Reward = Annotated[float, msgspec.Meta(ge=-LARGEST, le=LARGEST)]


class Failure(msgspec.Struct, frozen=True, rename={"kind": "class"}):
    """Why a rollout has no reward.

    `kind` (written as `class`) is `infra` (endpoint, network, sandbox), `model` (an answer that
    could not be used) or `environment` (its own code); `type` is the name of the exception.
    `in_scoring` says that the model had said all by then; null where an older prime did not tell.
    """

    kind: str
    type: str
    message: str
    retryable: bool = False
    traceback: str | None = None
    in_scoring: bool | None = None


class Row(msgspec.Struct, kw_only=True):
    """One attempt at one rollout; `reward` is null exactly when `error` is not.

    `timing` is in seconds, `usage` in tokens of the policy, its failed tries included. `judges`
    holds the same of all other roles and models: role, then model, then counts. `cost` is in USD
    for all of them, null where a part has no known price. `apart` has the shape of `judges`: what
    calls used that belong to no rollout, since the line before. A later attempt at the same
    (example_id, rollout) replaces an earlier one, and what that one used was spent nevertheless.
    `again` is why it was made (`runs/retries.py`), null for a first one.
    """

    schema: int = SCHEMA
    example_id: Index
    rollout: Ordinal
    attempt: Ordinal = 1
    again: str | None = None
    reward: Reward | None = None
    metrics: dict[str, Any] = {}
    prompt: Any = None
    completion: Any = None
    answer: Any = None
    info: Any = None
    task: Any = None
    error: Failure | None = None
    timing: dict[str, Any] = {}
    usage: dict[str, Any] | None = None
    judges: SpentBy = {}
    cost: float | None = None
    apart: SpentBy = {}
    stop_condition: str | None = None
    is_truncated: bool = False
    state: dict[str, Any] = {}


def numeric(metrics: dict[str, Any]) -> dict[str, float]:
    """The metrics that can be averaged; an environment may report others, which are only kept."""
    return {
        name: float(value)
        for name, value in metrics.items()
        if isinstance(value, int | float) and abs(value) <= LARGEST
    }
