"""What a trainer reports to its session: steps, checkpoints, and lines for its user.

metrics.jsonl has one line for each step, with the same names for every trainer. What a trainer does
not report of its rollouts is counted here, from those that it was given.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import fsum, sqrt
from pathlib import Path
from typing import Any

import msgspec

from prime_cli.core.paths import storage_errors, write_atomically
from prime_cli.core.progress import Progress
from prime_cli.runs.rows import CANCELLED
from prime_cli.runs.scrubber import Scrubber
from prime_cli.training.policies import RolloutKey
from prime_cli.wire.rollouts import TrainerCheckpoint, TrainerLog, TrainingRollout, TrainingStep

METRICS = "metrics.jsonl"
CHECKPOINTS = "checkpoints.jsonl"
TRAINER_LOG = "trainer.log"
NAMES = (
    "reward reward_std rewards no_spread rollouts errors truncated segments forked tokens_own "
    "tokens_env length loss grad_norm entropy kl clip lr version_lag logprob_gap seconds memory_mb"
).split()
"""The metrics of a step in the order of a line; a trainer's others are under `extra`."""
_SAME = 1e-9
_UNTAGGED = -1


@dataclass
class _Counts:
    """The rollouts of a step; `groups` are their rewards by what was asked for together.

    `tokens_own` are the tokens that the policy sampled, `tokens_env` all others: prompts, and what
    the environment added.
    """

    rollouts: int = 0
    errors: int = 0
    truncated: int = 0
    segments: int = 0
    forked: int = 0
    tokens_own: int = 0
    tokens_env: int = 0
    lags: list[int] = field(default_factory=list)
    groups: dict[RolloutKey, list[float]] = field(default_factory=lambda: defaultdict(list))
    rewards: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))

    def add(
        self, line: TrainingRollout, group: RolloutKey, version: int | None, environment: str
    ) -> None:
        spans = [span for segment in line.segments for span in segment.spans]
        own = sum(span.end - span.start for span in spans)
        self.rollouts += 1
        self.errors += line.error is not None and line.error.kind != CANCELLED
        self.truncated += line.is_truncated
        self.segments += len(line.segments)
        self.forked += len(line.segments) > 1
        self.tokens_own += own
        self.tokens_env += sum(len(segment.ids) for segment in line.segments) - own
        if version is not None:
            self.lags += [version - span.version for span in spans]
        if line.reward is not None:
            self.groups[group].append(line.reward)
            self.rewards[environment].append(line.reward)

    def metrics(self, environments: Sequence[str]) -> dict[str, Any]:
        rewards = [reward for group in self.groups.values() for reward in group]
        compared = [group for group in self.groups.values() if len(group) > 1]
        same = sum(max(group) - min(group) <= _SAME for group in compared)
        counted = {
            "reward": _mean(rewards),
            "reward_std": _deviation(rewards),
            "rewards": {each: _mean(self.rewards[each]) for each in environments} or None,
            "no_spread": same / len(compared) if compared else None,
            "rollouts": self.rollouts,
            "errors": self.errors,
            "truncated": self.truncated,
            "segments": self.segments,
            "forked": self.forked,
            "tokens_own": self.tokens_own,
            "tokens_env": self.tokens_env,
            "version_lag": _mean(self.lags),
        }
        return {name: value for name, value in counted.items() if value is not None}


class StepMetrics:
    """Counts rollouts by the `step` of their tag; those without one belong to the next step.

    Where there are several `environments`, the reward of each is a metric too.
    """

    def __init__(self, environments: Sequence[str] = ()) -> None:
        self._environments = environments
        self._steps: dict[int, _Counts] = {}

    def add(
        self,
        line: TrainingRollout,
        group: RolloutKey,
        tag: Mapping[str, Any],
        version: int | None,
        environment: str = "",
    ) -> None:
        """Count a rollout that was handed out; `group` is the first one of its ask.

        `version` is that of the current weights.
        """
        tagged = tag.get("step")
        step = tagged if isinstance(tagged, int) else _UNTAGGED
        self._steps.setdefault(step, _Counts()).add(line, group, version, environment)

    def played(self, step: int) -> int:
        """The rollouts of a step that has no line yet."""
        return self._steps[step].rollouts if step in self._steps else 0

    def line(self, step: TrainingStep) -> dict[str, Any]:
        """The line of a step: what the trainer reports goes before what was counted.

        Rollouts of earlier steps that came after the lines of these are in no line.
        """
        counted: dict[str, Any] = {}
        for number in sorted(self._steps):
            if number <= step.step:
                counted = self._steps.pop(number).metrics(self._environments)
        known = {**counted, **step.metrics}
        extra = {name: value for name, value in step.metrics.items() if name not in NAMES}
        own = extra.pop("extra", None)
        extra |= own if isinstance(own, dict) else {}
        line = {"step": step.step, **{name: known[name] for name in NAMES if name in known}}
        return {**line, "extra": extra} if extra else line


class TrainerEvents:
    """Keeps what a trainer reports in files of `folder`, without secrets, and shows it."""

    def __init__(
        self, folder: Path, scrub: Scrubber, progress: Progress, environments: Sequence[str] = ()
    ) -> None:
        self.steps = StepMetrics(environments)
        self._folder = folder
        self._scrub = scrub
        self._progress = progress

    def keep_step(self, step: TrainingStep) -> dict[str, Any]:
        """Write a line of metrics.jsonl, and return it; raises StorageFailed, as the others do."""
        line = self.steps.line(step)
        self._write(METRICS, msgspec.json.encode(line))
        return line

    def keep_checkpoint(self, checkpoint: TrainerCheckpoint) -> None:
        """Where weights are: a line of checkpoints.jsonl, and one for the user."""
        self._write(CHECKPOINTS, msgspec.json.encode(checkpoint))
        path = self._scrub.text(checkpoint.path)
        self._progress.say(f"The weights after step {checkpoint.step} are in {path}")

    def keep_log(self, log: TrainerLog) -> None:
        """Lines of trainer.log, which the user sees too."""
        for line in log.text.splitlines():
            self._write(TRAINER_LOG, line.encode())
            self._progress.say(f"Trainer: {self._scrub.text(line)}")

    def _write(self, name: str, line: bytes) -> None:
        path = self._folder / name
        with storage_errors(path), path.open("ab") as file:
            file.write(self._scrub(line) + b"\n")


def forget_steps_after(step: int, folder: Path) -> None:
    """Remove the later lines of metrics.jsonl, whose steps will be done again.

    Raises StorageFailed.
    """
    path = folder / METRICS
    if not path.is_file():
        return
    with storage_errors(path):
        lines = path.read_bytes().splitlines(keepends=True)
    kept = [line for line in lines if line.endswith(b"\n") and _step_of(line) <= step]
    write_atomically(path, b"".join(kept), mode=0o644)


def _step_of(line: bytes) -> int:
    return int(msgspec.json.decode(line)["step"])


def _mean(values: list[float] | list[int]) -> float | None:
    # Exact sums: rollouts finish in another order each time.
    return fsum(values) / len(values) if values else None


def _deviation(values: list[float]) -> float | None:
    mean = _mean(values)
    if mean is None:
        return None
    return sqrt(fsum((value - mean) ** 2 for value in values) / len(values))
