"""A finished rollout as the journal keeps it, and whether its model is asked again.

Asking a model again until no error is left would select among its answers. So it is asked again
only if it gave none; an answer that could not be scored is rescored as saved.
"""

import re
from enum import StrEnum
from functools import lru_cache
from typing import TYPE_CHECKING, Annotated, Any

import msgspec

from prime_cli.core.digests import digest_bytes
from prime_cli.core.formatting import pluralize

if TYPE_CHECKING:
    from prime_cli.runtime.protocol import RolloutError

SCHEMA = 1
"""For the journal's lines and run.json; readers accept this one and the previous one."""


SpentBy = dict[str, dict[str, dict[str, Any]]]
"""Spend as written: by role and model; `runs/spending.py` says what is counted."""

LARGEST = 1e100
"""Larger rewards and metrics are meaningless, and their squares would overflow."""

_MOST_EXAMPLES = 1 << 62
Index = Annotated[int, msgspec.Meta(gt=-_MOST_EXAMPLES, lt=_MOST_EXAMPLES)]
MOST_ATTEMPTS = 1 << 31
Ordinal = Annotated[int, msgspec.Meta(ge=0, lt=MOST_ATTEMPTS)]
Reward = Annotated[float, msgspec.Meta(ge=-LARGEST, le=LARGEST)]


class Failure(msgspec.Struct, frozen=True, rename={"kind": "class"}):
    """Why a rollout has no reward.

    `kind` (written as `class`) is `infra` (endpoint, network, sandbox), `model` (an unusable
    answer), `environment` (its own code) or CANCELLED (by a person, so no error); `type` is the
    name of the exception. `in_scoring` means that the model had finished by then; null if an older
    prime did not record it.
    """

    kind: str
    type: str
    message: str
    retryable: bool = False
    traceback: str | None = None
    in_scoring: bool | None = None


class Row(msgspec.Struct, kw_only=True):
    """One attempt at one rollout; `reward` is null exactly when `error` is not.

    `timing` is in seconds, `usage` in tokens of the policy, failed calls included. `judges` holds
    the same for all other roles and models: role, then model, then counts. `cost` is in USD for all
    of them, null if part has no known price. `apart`, shaped as `judges`, is the usage since the
    previous line of calls outside any rollout. A later attempt at the same (example_id, rollout)
    replaces an earlier one, whose usage still counts as spent. `again` is why it was made (see
    `REASONS`), null for a first one.
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


def example_number(number: int) -> int:
    """What a row calls an example that another program numbered so.

    A hash of 64 bits has no room in an `Index`: 56 bits of its digest stand for it in every run.
    """
    if abs(number) < _MOST_EXAMPLES:
        return number
    return int(digest_bytes(b"%x" % number)[:_DIGITS], 16)


_DIGITS = 14
"""Hexadecimal."""


def numeric(metrics: dict[str, Any]) -> dict[str, float]:
    """The metrics that can be averaged; others are kept but not used."""
    return {
        name: float(value)
        for name, value in metrics.items()
        if isinstance(value, int | float) and abs(value) <= LARGEST
    }


class Step(StrEnum):
    """The next step: ask the model again, rescore its answer, or nothing, as after CANCELLED."""

    ASK = "ask"
    SCORE = "score"
    KEEP = "keep"
    CANCELLED = "cancelled"


class OnResume(msgspec.Struct, frozen=True):
    """How many errored rollouts `prime eval run --resume` asks again, rescores, and keeps.

    Of those that it rescores `own` failed in the environment's own code, which will not have
    changed; of those that it keeps `lacking` wanted what prime does not have.
    """

    ask: int = 0
    score: int = 0
    keep: int = 0
    own: int = 0
    lacking: int = 0


@lru_cache(maxsize=1)
def _lacking() -> re.Pattern[str]:
    # Commands that only list runs do without these modules.
    from prime_cli.runtime.worker.failures import NO_SUCH_SANDBOX, NO_TUNNEL
    from prime_cli.wire.sandboxes import IMAGE_PULL_FAILED

    return re.compile("|".join([NO_TUNNEL, IMAGE_PULL_FAILED, *NO_SUCH_SANDBOX]))


def lacks_capability(failure: "Failure | RolloutError") -> bool:
    """Whether a rollout failed for want of a tunnel or an image, which is no fault of its code."""
    said = f"{failure.type}: {failure.message}\n{failure.traceback or ''}"
    return failure.kind == "environment" and _lacking().search(said) is not None


_IN_SCORING = frozenset({"RewardFailed", "ScoringTimeout", "NoReward", "ValueError"})
"""For older primes, which did not write `in_scoring`; the last one is a NaN reward."""
_PASSING = frozenset({"ScoringTimeout"})
"""What may go another way the next time, with the same code."""


def next_step(row: Row) -> Step | None:
    """What to do next with `row`; None if it has a score."""
    if row.reward is not None:
        return None
    if is_cancelled(row):
        return Step.CANCELLED
    if is_scorable(row):
        return Step.SCORE
    return Step.ASK if row.error is not None and row.error.kind == INFRA else Step.KEEP


def is_cancelled(row: Row) -> bool:
    """Whether a person has cancelled the rollout, which is neither a score nor an error."""
    return row.error is not None and row.error.kind == CANCELLED


def fails_in_own_code(row: Row) -> bool:
    """Whether scoring a saved answer raised in the environment's code, as it would again."""
    error = row.error
    return error is not None and error.kind == "environment" and error.type not in _PASSING


def is_scorable(row: Row) -> bool:
    """Whether the model's answer is complete: the rollout was scored, or failed in scoring."""
    if not row.completion:
        return False
    if row.error is None:
        return True
    if row.error.in_scoring is not None:
        return row.error.in_scoring
    if row.error.kind != "environment" or row.error.type not in _IN_SCORING:
        return False
    return row.error.type != "ValueError" or row.error.message.startswith("the reward is not")


CANCELLED = "cancelled"
"""The class of a rollout that `prime eval ctl cancel` has ended."""
INFRA = "infra"
REQUESTED = "requested"
GROUP = "group"
WORKER_DIED = "worker_died"
OTHER = "other"
REASONS = (INFRA, REQUESTED, GROUP, WORKER_DIED, OTHER)
"""Why a model was asked again, as in `Row.again`; OTHER is only for runs of older primes."""

SCORED = "scored"
"""`Row.again` of an attempt that rescored a saved answer, without a model call."""


class AskedAgain(msgspec.Struct, frozen=True):
    """How many rollouts the model was asked for more than once; one may count in several reasons.

    By reason: an infra error left no answer, `--retry-errors` requested it, another rollout of the
    group needed it, the environment's process died meanwhile. Older primes asked again after
    `other` errors too.
    """

    rollouts: int = 0
    infra: int = 0
    requested: int = 0
    group: int = 0
    worker_died: int = 0
    other: int = 0

    def at_least(self, known: "AskedAgain | None") -> "AskedAgain":
        """The larger of each count, for a run with only its last attempts at hand."""
        if known is None:
            return self
        return AskedAgain(
            *(max(getattr(self, n), getattr(known, n)) for n in self.__struct_fields__)
        )

    @property
    def words(self) -> str:
        """`5 rollouts: 3 after an infra error, 2 with their group`; empty if there are none."""
        counts = ((getattr(self, reason), words) for reason, words in _WORDS.items())
        parts = ", ".join(f"{count:,} {words}" for count, words in counts if count)
        return f"{pluralize(self.rollouts, 'rollout')}: {parts}" if self.rollouts else ""


_WORDS = {
    INFRA: "after an infra error",
    REQUESTED: "by `--retry-errors`",
    GROUP: "with their group",
    WORKER_DIED: "after the environment's process died",
    OTHER: "after other errors, by an older prime",
}


def reason_of(row: Row, before: Failure | None, *, is_first: bool) -> str | None:
    """Why the model was asked again for `row`, None if it was not.

    Rows of older primes do not say: there the attempt `before` tells, by the failure it ended in or
    by having been scored.
    """
    if row.again is not None or row.attempt == 1:
        return row.again if row.again in REASONS else None
    if is_first:
        return OTHER
    if before is None:
        return GROUP
    return INFRA if before.kind == INFRA else OTHER
