"""What a resume does with a rollout that ended in an error.

Whoever asks a model again until no error is left has chosen among its answers. So it is asked again
only where it gave none; an answer that could not be scored is scored again as it was saved.
"""

from enum import StrEnum

import msgspec

from prime_cli.evals.asked_again import INFRA
from prime_cli.evals.rows import Row


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
