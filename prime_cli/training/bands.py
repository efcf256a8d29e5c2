"""Difficulty bands: the examples that an earlier evaluation neither always nor never solved."""

from collections import defaultdict
from statistics import fmean

import msgspec

from prime_cli.core.errors import UsageError
from prime_cli.core.formatting import format_exact, pluralize
from prime_cli.evals.planning.prepare import PreparedRun
from prime_cli.runs.saved_run import SavedRun


class Band(msgspec.Struct, frozen=True, kw_only=True):
    """The `examples` whose mean reward in `run` is from `low` to `high`, both included.

    They are of `known` examples that have a reward there.
    """

    run: str
    low: float
    high: float
    examples: tuple[int, ...]
    known: int

    @property
    def words(self) -> str:
        """`37 of 120 examples, solved 0.1..0.9 in 1f2e3d4c`."""
        band = f"{format_exact(self.low)}..{format_exact(self.high)}"
        count = f"{len(self.examples):,} of {pluralize(self.known, 'example')}"
        return f"{count}, solved {band} in {self.run}"


def parse_band(text: str) -> tuple[float, float]:
    """`0.1..0.9` as its bounds; raises UsageError."""
    low, dots, high = text.partition("..")
    try:
        found = float(low), float(high)
    except ValueError:
        found = (1.0, 0.0)
    if not dots or not found[0] <= found[1]:
        raise UsageError(f"`--solved {text}` is no range of rewards", hint="`--solved 0.1..0.9`")
    return found


def find_band(run: SavedRun, prepared: PreparedRun, solved: str, least: int) -> Band:
    """The examples of `run` that are worth training on in the `prepared` environment.

    Raises UsageError for an invalid range, a run of another environment, arguments or split, and
    for fewer than `least` examples.
    """
    low, high = parse_band(solved)
    name = run.folder.run_id
    _require_same(run, prepared, name)
    rewards: defaultdict[int, list[float]] = defaultdict(list)
    for row in run.rows():
        if row.reward is not None:
            rewards[row.example_id].append(row.reward)
    chosen = [example for example, each in sorted(rewards.items()) if low <= fmean(each) <= high]
    band = Band(run=name, low=low, high=high, examples=tuple(chosen), known=len(rewards))
    if len(chosen) < least:
        raise UsageError(
            f"{band.words}: too few for a step of {pluralize(least, 'prompt')}",
            hint="a wider `--solved`, a smaller `--batch`, or a run of more examples",
        )
    return band


def _require_same(run: SavedRun, prepared: PreparedRun, name: str) -> None:
    if run.manifest is None:
        raise UsageError(
            f"{name} does not say which environment it is of", hint="use one of prime's"
        )
    before, now = run.manifest.plan, prepared.plan
    again = "`prime eval run` with the environment, `-a` and `--split` of the training"
    if before.environment.sha256 != now.environment.sha256:
        ran, trained = before.environment.title, now.environment.title
        raise UsageError(
            f"{name} is of {ran}, and {trained} is trained on"
            if ran != trained
            else f"{ran} has changed since {name}",
            hint=again,
        )
    if before.env_args != now.env_args or before.extra_args != now.extra_args:
        raise UsageError(f"{name} has other arguments of the environment", hint=again)
    splits = [plan.option("split") or "eval" for plan in (before, now)]
    if splits[0] != splits[1] and prepared.subject.package.facts.exposes != "v1":
        raise UsageError(
            f"{name} is of the split `{splits[0]}`, and `{splits[1]}` is trained on",
            hint=f"`prime eval run … --split {splits[1]}`",
        )
