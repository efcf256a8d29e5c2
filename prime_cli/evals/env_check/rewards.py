"""What the rewards of a sounding are measured against."""

import math
from dataclasses import dataclass

from prime_cli.evals.env_check.probe_run import Sounding
from prime_cli.models.gateway.probes import ENDLESS, GOLDEN, Probe
from prime_cli.runtime.protocol import Rollout

_NOT_OF_THIS_RUN = "is not the model of this run"
_TOO_LATE = "RolloutTimeout"
_NOT_A_NUMBER = "the reward is not a number"
EPSILON = 1e-6


@dataclass(frozen=True)
class Scale:
    """The lowest and highest reward there can be, where every reward function stays in [0, 1].

    `known` is False where the weights cannot be told: then it is [0, 1] as well. `relative` is
    True where a rollout is scored against others, so that the numbers mean nothing alone.
    """

    low: float = 0.0
    high: float = 1.0
    known: bool = False
    relative: bool = False

    def __str__(self) -> str:
        return f"{self.low:g} to {self.high:g}"


def scale_of(run: Sounding) -> Scale:
    """The scale of an environment: the sums of its negative and of its positive weights."""
    relative = run.start is not None and run.start.unit == "group"
    weights = list((run.start.weights or {}).values()) if run.start else []
    high = math.fsum(weight for weight in weights if weight > 0)
    if high <= 0:
        return Scale(relative=relative)
    low = math.fsum(weight for weight in weights if weight < 0)
    return Scale(low, high, known=True, relative=relative)


def has_oracle(run: Sounding) -> bool:
    """Whether the environment brings an `oracle` of its own."""
    return run.start is not None and run.start.oracle


def golden_examples(run: Sounding) -> list[int]:
    """The examples of which a gold answer is known."""
    if has_oracle(run) or run.start is None:
        return run.examples
    return [example for example in run.examples if str(example) in run.start.answers]


def golden_form(run: Sounding) -> Probe:
    """The form in which the gold answers are paid best; an oracle's own words have one only."""
    if has_oracle(run):
        return Probe.GOLD
    return max(GOLDEN, key=lambda form: math.fsum(run.rewards(form).values()))


def asks_judge(row: Rollout) -> bool:
    """Whether a rollout has no reward because another model was asked, and may not be."""
    return row.error is not None and _NOT_OF_THIS_RUN in row.error.message


def never_ends(row: Rollout) -> bool:
    """Whether a rollout was ended by the check: after too many answers, or too long a time."""
    error = row.error
    return error is not None and (ENDLESS in error.message or error.type == _TOO_LATE)


def is_not_a_number(row: Rollout) -> bool:
    """Whether the reward was infinite or no number at all."""
    return row.error is not None and _NOT_A_NUMBER in row.error.message


def raised(row: Rollout) -> bool:
    """Whether the environment's own code raised."""
    if row.error is None or asks_judge(row) or never_ends(row) or is_not_a_number(row):
        return False
    return row.error.kind == "environment"
