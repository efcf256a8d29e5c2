"""One finished rollout as the journal keeps it, and whether its model is asked again.

Asking a model again until no error is left would choose among its answers. So it is asked again
only where it gave none; an answer that could not be scored is scored again as it was saved.
"""

from enum import StrEnum
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
    `again` is why it was made (see `REASONS`), null for a first one.
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


class Step(StrEnum):
    """What is done next: the model is asked again, its answer is scored again, or nothing."""

    ASK = "ask"
    SCORE = "score"
    KEEP = "keep"


class OnResume(msgspec.Struct, frozen=True):
    """How many errored rollouts `prime eval run --resume` asks again, scores again, and keeps."""

    ask: int = 0
    score: int = 0
    keep: int = 0


_IN_SCORING = frozenset({"RewardFailed", "ScoringTimeout", "NoReward", "ValueError"})
"""Of older primes, which did not write `in_scoring`; NaN as a reward is the last."""


def next_step(row: Row) -> Step | None:
    """What becomes of `row`; None where it has a score."""
    if row.reward is not None:
        return None
    if is_scorable(row):
        return Step.SCORE
    return Step.ASK if row.error is not None and row.error.kind == INFRA else Step.KEEP


def is_scorable(row: Row) -> bool:
    """Whether a rollout has all that the model said: it was scored, or failed in scoring."""
    if not row.completion:
        return False
    if row.error is None:
        return True
    if row.error.in_scoring is not None:
        return row.error.in_scoring
    if row.error.kind != "environment" or row.error.type not in _IN_SCORING:
        return False
    return row.error.type != "ValueError" or row.error.message.startswith("the reward is not")


INFRA = "infra"
REQUESTED = "requested"
GROUP = "group"
WORKER_DIED = "worker_died"
OTHER = "other"
REASONS = (INFRA, REQUESTED, GROUP, WORKER_DIED, OTHER)
"""Why a model was asked again, as `Row.again` has it; OTHER is of runs of older primes only."""

SCORED = "scored"
"""`Row.again` of an attempt that scored a saved answer once more: nobody was asked."""


class AskedAgain(msgspec.Struct, frozen=True):
    """How many rollouts the model was asked for more than once; one may count in several reasons.

    By reason: an infra error had left no answer, `--retry-errors` asked for it, another rollout of
    the group needed it, the environment's process died meanwhile. Older primes asked again after
    `other` errors too.
    """

    rollouts: int = 0
    infra: int = 0
    requested: int = 0
    group: int = 0
    worker_died: int = 0
    other: int = 0

    def at_least(self, known: "AskedAgain | None") -> "AskedAgain":
        """The larger of each count: of a run of which only the last attempts are at hand."""
        if known is None:
            return self
        return AskedAgain(
            *(max(getattr(self, n), getattr(known, n)) for n in self.__struct_fields__)
        )

    @property
    def words(self) -> str:
        """`5 rollouts: 3 after an infra error, 2 with their group`; empty where there are none."""
        counts = ((getattr(self, reason), words) for reason, words in _WORDS.items())
        parts = ", ".join(f"{count} {words}" for count, words in counts if count)
        noun = "rollout" if self.rollouts == 1 else "rollouts"
        return f"{self.rollouts} {noun}: {parts}" if self.rollouts else ""


_WORDS = {
    INFRA: "after an infra error",
    REQUESTED: "by `--retry-errors`",
    GROUP: "with their group",
    WORKER_DIED: "after the environment's process died",
    OTHER: "after other errors, by an older prime",
}


def reason_of(row: Row, before: Failure | None, *, is_first: bool) -> str | None:
    """Why the model was asked again for `row`, None where it was not.

    Rows of older primes do not say: there the attempt `before` tells, which ended in that failure
    or was scored.
    """
    if row.again is not None or row.attempt == 1:
        return row.again if row.again in REASONS else None
    if is_first:
        return OTHER
    if before is None:
        return GROUP
    return INFRA if before.kind == INFRA else OTHER
