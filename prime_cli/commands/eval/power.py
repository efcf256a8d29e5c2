"""`prime eval power`."""

from pathlib import Path
from typing import Annotated

import typer

from prime_cli.commands.options import OutputOpt, QuietOpt, open_session
from prime_cli.core.errors import UsageError
from prime_cli.evals.comparison.compare import ALPHA, require_statistics
from prime_cli.evals.comparison.planning import (
    Need,
    Question,
    Variation,
    need_of,
    need_of_discordance,
    need_of_pair,
    variation_of,
)
from prime_cli.evals.comparison.sides import side_of
from prime_cli.evals.listing import find_run

_MOST_RUNS = 2
_POWER = 0.8
_CORRELATION = 0.5


def power(
    ctx: typer.Context,
    runs: Annotated[
        list[str] | None,
        typer.Argument(metavar="[RUN] [OTHER]", help="Take the variation from saved runs."),
    ] = None,
    difference: Annotated[
        float | None, typer.Option("--difference", "-d", help="The difference to be shown.")
    ] = None,
    examples: Annotated[
        int | None, typer.Option("--examples", "-n", min=2, help="Ask what so many show.")
    ] = None,
    rollouts: Annotated[
        int, typer.Option("--rollouts", "-r", min=1, help="Of each example and model.")
    ] = 1,
    rate: Annotated[
        float | None, typer.Option("--rate", min=0, max=1, help="Mean of rewards of 0 and 1.")
    ] = None,
    sd: Annotated[
        float | None, typer.Option("--sd", min=0, help="Standard deviation of one reward.")
    ] = None,
    discordance: Annotated[
        float | None,
        typer.Option("--discordance", min=0, max=1, help="Share of 0/1 examples that change."),
    ] = None,
    correlation: Annotated[
        float,
        typer.Option("--correlation", min=0, max=1, help="Of both models' expected rewards."),
    ] = _CORRELATION,
    icc: Annotated[
        float | None,
        typer.Option("--icc", min=0, max=1, help="Correlation of rollouts of one example."),
    ] = None,
    alpha: Annotated[
        float, typer.Option("--alpha", help="Accepted chance of a false finding.")
    ] = ALPHA,
    power_: Annotated[
        float, typer.Option("--power", help="Wanted chance to find the difference.")
    ] = _POWER,
    output: OutputOpt = None,
    quiet: QuietOpt = False,
) -> None:
    """Tell how many examples show a difference, or the reverse.

    The variation of rewards comes from numbers, from one run (between and within its examples), or
    from two runs that were compared. Needs `prime-cli[stats]`.

    \b
    Example:
      prime eval power --rate 0.6 --difference 0.05
      prime eval power 1f2e3d4c --examples 200 --rollouts 4
    \b
    See also: `prime eval compare`, `prime eval run`.
    """
    session = open_session(ctx, output=output, quiet=quiet)
    question = Question(difference, examples, rollouts, alpha, power_)
    question.check()
    require_statistics("Planning a comparison")
    if runs:
        with session.progress.task("Reading runs"):
            need = _from_runs(runs, question, correlation)
    elif discordance is not None:
        need = need_of_discordance(question, discordance, "the given discordance")
    else:
        need = need_of(question, _given(rate, sd, icc, correlation, rollouts))
    session.output.show(need, lines=_lines(need))


def _from_runs(names: list[str], question: Question, correlation: float) -> Need:
    if len(names) > _MOST_RUNS:
        raise UsageError("The variation comes from one run or two", hint="name one or two")
    sides = [side_of(find_run(name, Path.cwd())) for name in names]
    if len(sides) == 1:
        return need_of(question, variation_of(sides[0], correlation))
    return need_of_pair(question, *sides)


def _given(
    rate: float | None, sd: float | None, icc: float | None, correlation: float, rollouts: int
) -> Variation:
    match rate, sd:
        case float() as mean, None:
            variance, source = mean * (1 - mean), f"a rate of {mean:g}"
        case None, float() as deviation:
            variance, source = deviation * deviation, f"a standard deviation of {deviation:g}"
        case _:
            raise UsageError(
                "Say how rewards vary: either `--rate`, `--sd`, `--discordance` or a RUN",
                hint="as in `prime eval power --rate 0.6 --difference 0.05`",
            )
    if rollouts > 1 and icc is None:
        raise UsageError(
            "What more rollouts add depends on how alike those of one example are",
            hint="give `--icc`, or a RUN with several rollouts that tells it",
        )
    # With one rollout, what varies within an example cannot be told from what varies between them.
    within = 1.0 if icc is None else icc
    return Variation(variance, within, correlation, source, rate, is_binary=rate is not None)


def _lines(need: Need) -> list[tuple[str, str]]:
    size = f"{need.rollouts} rollout" + ("s" if need.rollouts > 1 else "")
    lines = [
        ("Examples", "over 10 million" if need.examples is None else f"{need.examples:,}"),
        ("", f"each with {size} of each model"),
        ("Difference", "none" if need.difference is None else f"{need.difference:.4g}"),
        ("", f"found in {need.power:.0%} of cases at alpha {need.alpha:g}"),
        ("From", need.source),
    ]
    if need.spread is not None:
        lines.append(("", f"differences of an example have a deviation of {need.spread:.3g}"))
    if need.discordance is not None:
        lines.append(("", f"{need.discordance:.1%} of examples change"))
    if need.correlation is not None:
        lines.append(("Assumed", f"expected rewards of both models correlate {need.correlation:g}"))
    if need.icc is not None:
        lines.append(("", f"rollouts of one example correlate {need.icc:.3g}"))
    lines.append(("Method", need.method))
    return lines
