"""`prime judge …`."""

from pathlib import Path
from typing import Annotated

import typer

from prime_cli.commands.base import group
from prime_cli.commands.contract import WRITES
from prime_cli.commands.open import BrowserOpt, PortOpt, open_labelling
from prime_cli.commands.options import QUIET, common_options, local_options, open_session
from prime_cli.core.formatting import (
    format_exact,
    format_interval,
    format_number,
    format_share,
    join_words,
)
from prime_cli.evals.gate.calibration import (
    REWARD,
    Calibration,
    JudgeBias,
    PeopleAgreement,
    calibrate,
    save_calibration,
)
from prime_cli.evals.gate.labels import check_person, labels_of, read_labels
from prime_cli.runs.listing import find_run
from prime_cli.runs.statistics.agreement import RateEstimate

app = group(
    "Check judges against people.",
    {
        "label": (
            "prime_cli.commands.judge:label_rollouts",
            "Label rollouts in a browser, without seeing the judge's scores.",
        ),
        "calibrate": (
            "prime_cli.commands.judge:calibrate_judge",
            "Compare a judge's scores with labels by people.",
        ),
    },
)

RunArg = Annotated[str, typer.Argument(help="A run's id or its folder.", show_default=False)]


@common_options(QUIET, effects=WRITES)
def label_rollouts(
    ctx: typer.Context,
    run: RunArg,
    person: Annotated[
        str | None,
        typer.Option("--as", metavar="NAME", help="Who labels.", show_default="your user name"),
    ] = None,
    port: PortOpt = 0,
    no_browser: BrowserOpt = False,
) -> None:
    """Label rollouts in a browser, without seeing the judge's scores.

    Shows one rollout at a time, in a random order of your own, to pass, fail or skip. Labels are
    kept in the run's folder, and the next time you go on where you ended. Ctrl-C stops the server.

    \b
    Example:
      prime judge label 1f2e3d4c
      prime judge label 1f2e3d4c --as bob --no-browser --port 8800
    \b
    See also: `prime judge calibrate`, `prime open`.
    """
    session = open_session(ctx)
    who = check_person(person or session.config.owner.value)
    open_labelling(session, find_run(run, Path.cwd()), who, port, browser=not no_browser)


@local_options(answer=Calibration, effects=WRITES)
def calibrate_judge(
    ctx: typer.Context,
    run: RunArg,
    labels: Annotated[
        Path | None,
        typer.Argument(
            metavar="[FILE]",
            help="Labels, as .csv or .jsonl.",
            show_default="those of `prime judge label`",
        ),
    ] = None,
    metric: Annotated[
        str, typer.Option("--metric", metavar="NAME", help="The judge's score.")
    ] = REWARD,
    threshold: Annotated[
        float, typer.Option("--threshold", metavar="SCORE", help="The lowest score that passes.")
    ] = 0.5,
) -> None:
    """Compare a judge's scores with labels by people.

    A file's columns are example, rollout, person and label (pass or fail). Shows kappa, the
    confusion, and the pass rate corrected for the judge's errors, and keeps them in `judges/` for
    `prime eval gate --require-calibrated`.

    \b
    Example:
      prime judge calibrate 1f2e3d4c
      prime judge calibrate 1f2e3d4c labels.csv --metric helpful --threshold 0.7
    \b
    See also: `prime judge label`, `prime eval gate`, `prime eval rescore`.
    """
    session = open_session(ctx)
    saved = find_run(run, Path.cwd())
    told = labels_of(saved, Path.cwd()) if labels is None else read_labels(labels)
    found = calibrate(saved, told, metric=metric, threshold=threshold)
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
        *((" and ".join(each.people), _between(each)) for each in found.between),
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


_MOST_NAMED = 8


def _contradicted(found: Calibration) -> str:
    if not found.contradicted:
        return ""
    named = [f"{example}.{rollout}" for example, rollout in found.contradictions]
    left_out = f"{found.undecided:,} of {found.contradicted:,} left out as a tie"
    return f"{join_words(named, _MOST_NAMED)}; {left_out}"


def _between(found: PeopleAgreement) -> str:
    kappa = "" if found.kappa is None else f", kappa {format_number(found.kappa)}"
    return f"agree on {found.agreed:,} of {found.both:,}{kappa}"


def _estimate(found: RateEstimate) -> str:
    return f"{format_number(found.value)}, 95 % interval {format_interval((found.low, found.high))}"
