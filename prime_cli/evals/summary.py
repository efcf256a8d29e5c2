"""What a run comes to: counts, rewards, metrics, usage. The object that `--output json` prints."""

from typing import Any

import msgspec

from prime_cli.evals.statistics import bounds, precision, spread
from prime_cli.evals.tally import Tally


class EnvironmentFacts(msgspec.Struct, frozen=True):
    """What was evaluated; `sha256` is that of the wheel.

    `harness` is how a v1 taskset was run: `in-process`, or a harness by its id; null for v0.
    `sandbox` says that its code ran within walls.
    """

    ref: str
    sha256: str | None = None
    verifiers: str | None = None
    version: str | None = None
    harness: str | None = None
    sandbox: bool = False


class Counts(msgspec.Struct, frozen=True):
    """Rollouts planned, with a reward, ended in an error, and cut short by a token limit."""

    planned: int
    scored: int
    errored: int
    truncated: int


class Reward(msgspec.Struct, frozen=True):
    """Mean and population std over the scored rollouts.

    `low` and `high` are the mean with errors left out and with errors counted as 0, the smaller
    one first. `stderr` is the standard error of the mean and `interval` its 95 % interval, over
    examples, errors left out. All are null where there is nothing to compute them from.
    """

    mean: float | None
    std: float | None
    low: float | None
    high: float | None
    stderr: float | None = None
    interval: tuple[float, float] | None = None


class Metric(msgspec.Struct, frozen=True):
    """Mean and population std of one metric over the scored rollouts."""

    mean: float | None
    std: float | None


class ErrorCount(msgspec.Struct, frozen=True, rename={"kind": "class"}):
    """How often rollouts ended in one type of error, and the first such message."""

    kind: str
    type: str
    count: int
    message: str


class Summary(msgspec.Struct, frozen=True):
    """One run. `rollouts` holds the rewards by rollout index (`r1` first), null on an error.

    `seconds` is wall time, `usage` token counts by name. `status` is `running`, `finished`,
    `interrupted`, `failed` or `capped` (`failure` says why), or `stopped`.
    """

    run_id: str
    path: str
    environment: EnvironmentFacts
    model: str
    counts: Counts
    reward: Reward
    metrics: dict[str, Metric]
    usage: dict[str, Any]
    seconds: float | None
    status: str = "finished"
    num_examples: int | None = None
    rollouts_per_example: int | None = None
    date: str | None = None
    rollouts: dict[str, list[float | None]] = {}
    errors: list[ErrorCount] = []
    failure: str | None = None

    @property
    def cost(self) -> float | None:
        """What the run cost in USD; None where a part of it is not known."""
        return self.usage.get("cost")

    @property
    def error_rate(self) -> float:
        """Errored rollouts as a share of the finished ones."""
        finished = self.counts.scored + self.counts.errored
        return self.counts.errored / finished if finished else 0.0


class Scores(msgspec.Struct, frozen=True):
    """The part of a Summary that follows from the rows alone."""

    counts: Counts
    reward: Reward
    metrics: dict[str, Metric]
    rollouts: dict[str, list[float | None]]
    errors: list[ErrorCount]


def score(tally: Tally, planned: int) -> Scores:
    """The statistics of `tally`, of a run that wanted `planned` rollouts."""
    rewards = tally.rewards()
    all_of_them = spread(rewards)
    limits = bounds(rewards, tally.errored)
    exactness = precision(tally.by_example())
    metrics = {name: spread(values) for name, values in sorted(tally.metrics().items())}
    return Scores(
        counts=Counts(planned, tally.scored, tally.errored, tally.truncated),
        reward=Reward(
            all_of_them.mean,
            all_of_them.std,
            limits.low,
            limits.high,
            exactness.stderr,
            exactness.interval,
        ),
        metrics={name: Metric(value.mean, value.std) for name, value in metrics.items()},
        rollouts={f"r{index + 1}": values for index, values in tally.by_rollout().items()},
        errors=[
            ErrorCount(failure.kind, failure.type, count, failure.message)
            for failure, count in tally.errors()
        ],
    )
