"""Whether a run meets its thresholds, alone or against a baseline."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from prime_cli.core.errors import Conflict, GateFailed, UsageError
from prime_cli.core.formatting import NOISE, format_beside, format_exact, format_p, pluralize
from prime_cli.evals.gate.calibration import judge_calibration
from prime_cli.evals.sharing.samples import find_run_or_evaluation, rows_of_evaluation
from prime_cli.runs.comparison.compare import CompareOptions, Comparison, compare_all
from prime_cli.runs.comparison.sides import Side, evaluation_side, gather, side_of
from prime_cli.runs.pushed_manifest import manifest_of
from prime_cli.runs.saved_run import SavedRun
from prime_cli.runs.summary import Summary

if TYPE_CHECKING:
    from prime_cli.client.api.client import HubClient


@dataclass(frozen=True)
class Thresholds:
    """`fail_under` is of the mean reward, `max_drop` of its loss against `baseline`.

    `kappa` is of the judge's calibration, whose record is in the project `folder`.
    """

    fail_under: float | None = None
    max_drop: float | None = None
    baseline: Side | None = None
    kappa: float | None = None
    folder: Path = Path()


class ThresholdResult(msgspec.Struct, frozen=True):
    """One gate by the name of its flag, whether it passed, and by how much or why not."""

    gate: str
    passed: bool
    sentence: str


class GateResult(msgspec.Struct, frozen=True):
    """All gates of a run; `comparison` is with the baseline, if there is a comparable one."""

    outcomes: list[ThresholdResult]
    comparison: Comparison | None = None


def check_limits(
    fail_under: float | None,
    max_drop: float | None,
    baseline: str | None,
    kappa: float | None = None,
) -> None:
    """Raise UsageError for impossible limits."""
    if kappa is not None and not 0 < kappa <= 1:
        raise UsageError(f"`--require-calibrated {kappa}` is not a kappa above 0, at most 1")
    if (max_drop is None) != (baseline is None):
        raise UsageError(
            "`--baseline` and `--max-drop` require each other",
            hint="as in `--baseline 1f2e3d4c --max-drop 0.02`",
        )
    if max_drop is not None and not 0 <= max_drop < math.inf:
        raise UsageError(f"`--max-drop {max_drop}` is not a drop: it must be 0 or more")
    if fail_under is not None and not math.isfinite(fail_under):
        raise UsageError(f"`--fail-under {fail_under}` is not a reward")


def judge(run: SavedRun, summary: Summary, limits: Thresholds) -> GateResult:
    """Check `run` with its `summary` against `limits`; errors have no score and do not count."""
    outcomes = []
    comparison = None
    if limits.fail_under is not None:
        outcomes.append(_above(summary.reward.mean, limits.fail_under))
    if limits.baseline is not None and limits.max_drop is not None:
        try:
            comparison = _against(limits.baseline, run)
        except Conflict as conflict:
            outcomes.append(ThresholdResult("max-drop", passed=False, sentence=conflict.message))
        else:
            outcomes.append(_dropped(comparison, limits.max_drop))
    if limits.kappa is not None:
        passed, sentence = judge_calibration(run, limits.folder, limits.kappa)
        outcomes.append(ThresholdResult("require-calibrated", passed, sentence))
    return GateResult(outcomes, comparison)


def _above(mean: float | None, limit: float) -> ThresholdResult:
    if mean is None:
        return ThresholdResult("fail-under", passed=False, sentence="no rollout has a reward")
    passed = not is_below(mean, limit)
    return ThresholdResult("fail-under", passed, f"the mean reward {beside_limit(mean, limit)}")


def is_below(mean: float, limit: float) -> bool:
    """Whether `mean` misses `limit`: 0.6 - 0.5 is below 0.1 in binary alone, and meets it."""
    return mean < limit - NOISE


def beside_limit(mean: float, limit: float) -> str:
    """`0.4 is below 0.5`: both numbers, told apart, and which is lower."""
    than = "below" if is_below(mean, limit) else "not below"
    return f"{format_beside(mean, limit)} is {than} {format_exact(limit)}"


def _against(baseline: Side, run: SavedRun) -> Comparison:
    # A changed environment is often what the gate is for: what asks the same is compared, and
    # the comparison's notes say that the wheels differ.
    (found,) = compare_all([(baseline, side_of(run))], CompareOptions(force=True))
    return found


def _dropped(comparison: Comparison, limit: float) -> ThresholdResult:
    """Judge the measured drop: a bound of its interval would let large drops pass."""
    change = comparison.difference
    passed = not is_below(change, -limit)
    kept = "within" if passed else "more than"
    shown = f"{'+' if change > 0 else ''}{format_beside(change, -limit)}"
    return ThresholdResult(
        "max-drop",
        passed,
        f"the mean reward changed by {shown} against {comparison.first.name} over "
        f"{pluralize(comparison.examples.compared, 'example')}, {kept} the drop of "
        f"{format_exact(limit)} that is allowed (p {format_p(comparison.p)})",
    )


def check_gates(outcomes: Sequence[ThresholdResult], run_id: str) -> None:
    """Raise GateFailed if a gate failed; call it after `check_errors`.

    After too many errors the mean of the rest says little, on either side of a limit.
    """
    missed = [outcome.gate for outcome in outcomes if not outcome.passed]
    if missed:
        raise GateFailed(
            f"Run {run_id} missed {_share(len(missed), len(outcomes))}: {', '.join(missed)}",
            hint=f"see the rollouts with `prime eval show {run_id} --output jsonl`",
        )


def _share(missed: int, gates: int) -> str:
    return "its gate" if gates == 1 else f"{missed} of {gates} gates"


def read_baseline(name: str, cwd: Path, hub: "Callable[[], HubClient]") -> Side:
    """The side of a saved run, else of an evaluation; raises as `find_run_or_evaluation`."""
    found = find_run_or_evaluation(name, cwd, hub)
    if isinstance(found, SavedRun):
        return side_of(found)
    examples = gather(rows_of_evaluation(hub(), name))
    return evaluation_side(found, manifest_of(found), examples)
