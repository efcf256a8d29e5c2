"""`prime judge …`."""

from pathlib import Path
from typing import Annotated

import typer

from prime_cli.commands.base import group
from prime_cli.commands.contract import WRITES
from prime_cli.commands.options import local_options, open_session
from prime_cli.core.formatting import format_exact, format_interval, format_number, format_share
from prime_cli.evals.gate.calibration import (
    REWARD,
    Calibration,
    JudgeBias,
    calibrate,
    read_labels,
    save_calibration,
)
from prime_cli.runs.listing import find_run
from prime_cli.runs.statistics.agreement import RateEstimate

app = group(
    "Check judges against people.",
    {
        "calibrate": (
            "prime_cli.commands.judge:calibrate_judge",
            "Compare a judge's scores with labels by people.",
        ),
    },
)


@local_options(answer=Calibration, effects=WRITES)
def calibrate_judge(
    ctx: typer.Context,
    run: Annotated[str, typer.Argument(help="A run's id or its folder.", show_default=False)],
    labels: Annotated[
        Path, typer.Argument(metavar="FILE", help="Labels, as .csv or .jsonl.", show_default=False)
    ],
    metric: Annotated[
        str, typer.Option("--metric", metavar="NAME", help="The judge's score.")
    ] = REWARD,
    threshold: Annotated[
        float, typer.Option("--threshold", metavar="SCORE", help="The lowest score that passes.")
    ] = 0.5,
) -> None:
    """Compare a judge's scores with labels by people.

    The labels' columns are example, rollout, person and label (pass or fail). Shows kappa, the
    confusion, and the pass rate corrected for the judge's errors, and keeps them in `judges/` for
    `prime eval gate --require-calibrated`.

    \b
    Example:
      prime judge calibrate 1f2e3d4c labels.csv
      prime judge calibrate 1f2e3d4c labels.jsonl --metric helpful --threshold 0.7
    \b
    See also: `prime eval gate`, `prime eval show`, `prime eval rescore`.
    """
    session = open_session(ctx)
    saved = find_run(run, Path.cwd())
    found = calibrate(saved, read_labels(labels), metric=metric, threshold=threshold)
    path = save_calibration(Path.cwd(), found)
    session.output.show(found, lines=_lines(found))
    session.output.say(f"Saved in {path.relative_to(Path.cwd())}")


def _lines(found: Calibration) -> list[tuple[str, str]]:
    table = found.confusion
    lines = [
        ("Judge", f"`{found.metric}` of {found.environment}"),
        ("Passes", f"from {format_exact(found.threshold)}"),
        ("Models", ", ".join(found.judge.models)),
        ("Labels", f"{found.labelled:,} rollouts by {', '.join(found.people)}"),
        ("Contradicted", _contradicted(found)),
        ("Kappa", _estimate(found.kappa)),
        ("Both pass", f"{table.passes:,}"),
        ("Judge alone passes", f"{table.false_passes:,}"),
        ("People alone pass", f"{table.false_failures:,}"),
        ("Both fail", f"{table.failures:,}"),
        ("Base rate", f"{format_share(found.base_rate)} by people, {_share(found.judge_rate)}"),
        ("Pass rate", f"{_share(found.pass_rate)}, of all rollouts"),
        ("Corrected", _estimate(found.corrected) if found.corrected else "no better than chance"),
        *((each.group.capitalize(), _bias(each)) for each in found.biases),
    ]
    return [(label, text) for label, text in lines if text]


def _share(rate: float) -> str:
    return f"{format_share(rate)} by the judge"


def _bias(group: JudgeBias) -> str:
    people = f"{format_share(group.people_rate)} by people"
    return f"{people}, {_share(group.judge_rate)}, of {group.count:,}"


def _contradicted(found: Calibration) -> str:
    if not found.contradicted:
        return ""
    return f"{found.contradicted:,} rollouts, {found.undecided:,} of them left out as a tie"


def _estimate(found: RateEstimate) -> str:
    return f"{format_number(found.value)}, 95 % interval {format_interval((found.low, found.high))}"
