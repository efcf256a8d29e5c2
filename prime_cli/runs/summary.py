"""The results of a run: counts, rewards, metrics, usage. The object that `--output json` prints."""

from collections.abc import Sequence
from typing import Any

import msgspec

from prime_cli.runs.access_requests import WithheldVariable
from prime_cli.runs.plan import Labels, RunChange
from prime_cli.runs.rows import AskedAgain, OnResume
from prime_cli.runs.spending import ServedModel
from prime_cli.runs.statistics.intervals import bounds, precision, spread
from prime_cli.runs.statistics.reducers import Reduced, Reducer, reduce, usual_reducers
from prime_cli.runs.tally import Tally
from prime_cli.runtime.protocol import AgentInfo

IMPORT_KEY = "prime_import"
"""The key in metadata.json of a run that was imported: its source, and notes about it."""


class EnvironmentFacts(msgspec.Struct, frozen=True):
    """What was evaluated; `sha256` is that of the wheel.

    `harness` describes how a v1 taskset was played (`null, in-process`; `bash, docker`), and
    `agents` does so for each agent; null and empty for v0. `sandbox` is whether its code was
    sandboxed.
    """

    ref: str
    sha256: str | None = None
    verifiers: str | None = None
    version: str | None = None
    harness: str | None = None
    sandbox: bool = False
    agents: tuple[AgentInfo, ...] = ()


class Counts(msgspec.Struct, frozen=True, omit_defaults=True):
    """Rollouts planned, with a reward, ended in an error, cut short by a token limit, cancelled."""

    planned: int
    scored: int
    errored: int
    truncated: int
    cancelled: int = 0

    @property
    def ended(self) -> int:
        """Those that need nothing more."""
        return self.scored + self.errored + self.cancelled

    @property
    def words(self) -> str:
        """`4 planned, 3 scored, 1 errored`."""
        words = f"{self.planned:,} planned, {self.scored:,} scored, {self.errored:,} errored"
        return f"{words}, {self.cancelled:,} cancelled" if self.cancelled else words


class Reward(msgspec.Struct, frozen=True):
    """Mean and population std over the scored rollouts.

    `low` and `high` are the mean with errors left out and with errors counted as 0, the smaller one
    first. `stderr` is the standard error of the mean and `interval` its 95 % interval, over
    examples, errors left out, by `interval_method`. All are null if there is nothing to compute
    them from.
    """

    mean: float | None
    std: float | None
    low: float | None
    high: float | None
    stderr: float | None = None
    interval: tuple[float, float] | None = None
    interval_method: str | None = None


class Metric(msgspec.Struct, frozen=True):
    """Mean and population std of one metric over the scored rollouts."""

    mean: float | None
    std: float | None


class ErrorCount(msgspec.Struct, frozen=True, rename={"kind": "class"}):
    """How many rollouts ended in one type of error; message and traceback of the first."""

    kind: str
    type: str
    count: int
    message: str
    traceback: str | None = None


class Summary(msgspec.Struct, frozen=True):
    """One run. `rollouts` holds the rewards by rollout index (`r1` first), null on an error.

    `seconds` is wall time, `usage` token counts by name. `status` is `running`, `finished`,
    `interrupted`, `failed` or `capped` (`failure` says why), or `stopped`. `uncounted` names the
    hosts besides the gateway whose calls are not counted, `refused` those that were blocked,
    `withheld` variables that the environment requested and was not given, `warned` what its own
    code warned of while it loaded and in its first rollouts, `changes` what was changed while it
    ran. `asked_again` counts the
    rollouts whose model was asked more than once, `on_resume` what a resume does with those that
    ended in an error; both are null for runs of other tools. `reduced` holds pass@k and the like,
    if rewards are 0 and 1 or it was requested. `shard` is `I/N` for a part of a run, whose
    `num_examples` are those of the whole. `imported` has what the log of another tool lacks, and
    what was chosen of it.
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
    uncounted: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    withheld: tuple[WithheldVariable, ...] = ()
    warned: tuple[str, ...] = ()
    served: tuple[ServedModel, ...] = ()
    labels: Labels = Labels()
    changes: tuple[RunChange, ...] = ()
    asked_again: AskedAgain | None = None
    on_resume: OnResume | None = None
    reduced: list[Reduced] = []
    shard: str | None = None
    imported: tuple[str, ...] = ()

    @property
    def asked_again_words(self) -> str:
        """What a reader must know about it; empty if nothing."""
        return self.asked_again.words if self.asked_again is not None else ""

    @property
    def cost(self) -> float | None:
        """What the run cost in USD; None if part of it is unknown."""
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
    reduced: list[Reduced]


def score(tally: Tally, planned: int, reducers: Sequence[Reducer] | None = None) -> Scores:
    """The statistics of `tally`, for a run of `planned` rollouts.

    `reducers` default to the usual ones.
    """
    rewards, examples = tally.rewards(), tally.by_example()
    all_of_them = spread(rewards)
    limits = bounds(rewards, tally.errored)
    exactness = precision(examples)
    interval = exactness.interval
    wanted = usual_reducers(examples) if reducers is None else reducers
    reduced = [reduce(examples, reducer) for reducer in wanted]
    del rewards, examples  # of a million rollouts they are a third of the memory
    metrics = {name: spread(values) for name, values in sorted(tally.metrics().items())}
    return Scores(
        counts=Counts(planned, tally.scored, tally.errored, tally.truncated, tally.cancelled),
        reward=Reward(
            all_of_them.mean,
            all_of_them.std,
            limits.low,
            limits.high,
            exactness.stderr,
            (interval.low, interval.high) if interval else None,
            interval.method if interval else None,
        ),
        metrics={name: Metric(value.mean, value.std) for name, value in metrics.items()},
        rollouts={f"r{index + 1}": values for index, values in tally.by_rollout().items()},
        errors=[
            ErrorCount(failure.kind, failure.type, count, failure.message, failure.traceback)
            for failure, count in tally.errors()
        ],
        reduced=reduced,
    )
