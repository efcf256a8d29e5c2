"""`prime eval power`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from prime_cli.commands.options import local_options, open_session
from prime_cli.core.errors import ExitCode, UsageError
from prime_cli.core.formatting import format_number, format_share, pluralize
from prime_cli.core.options import Option
from prime_cli.runs.comparison.compare import ALPHA, require_statistics
from prime_cli.runs.comparison.sample_size import (
    PowerQuestion,
    SampleSize,
    need_of,
    need_of_discordance,
    need_of_pair,
)
from prime_cli.runs.comparison.sides import side_of
from prime_cli.runs.comparison.variation import (
    ALIKE_HINT,
    ALIKE_UNKNOWN,
    Variation,
    variation_of,
)
from prime_cli.runs.listing import find_run

_MOST_RUNS = 2
_POWER = 0.8
_CORRELATION = 0.5


@dataclass(frozen=True)
class Given:
    """What was said of how rewards vary, by option; None where it was not."""

    rate: Annotated[float | None, Option("Mean of rewards of 0 and 1.", least=0, most=1)] = None
    sd: Annotated[float | None, Option("Standard deviation of one reward.", least=0)] = None
    discordance: Annotated[
        float | None, Option("Share of 0/1 examples that change.", least=0, most=1)
    ] = None
    correlation: Annotated[
        float | None,
        Option(
            "Correlation of the two models' mean rewards.",
            least=0,
            most=1,
            show_default=str(_CORRELATION),
        ),
    ] = None
    icc: Annotated[
        float | None, Option("Correlation of rollouts of one example.", least=0, most=1)
    ] = None

    def check(self, runs: list[str]) -> None:
        """Raise UsageError unless there is one source, and for options that it has no use for."""
        if len(runs) > _MOST_RUNS:
            raise UsageError("The variance comes from one run or two", hint="pass one or two")
        sources = {"--rate": self.rate, "--sd": self.sd, "--discordance": self.discordance}
        named = [name for name, value in sources.items() if value is not None]
        if len(named) + bool(runs) != 1:
            raise UsageError(
                "How rewards vary is missing: give `--rate`, `--sd`, `--discordance` or a RUN",
                hint="as in `prime eval power --rate 0.6 --difference 0.05 --icc 0.5`",
            )
        if self.discordance is not None:
            self._refuse("`--discordance` excludes `{}`", correlation=True, icc=True)
        if len(runs) == _MOST_RUNS:
            self._refuse("Two runs exclude `{}`", correlation=True)

    def _refuse(self, sentence: str, *, correlation: bool = False, icc: bool = False) -> None:
        for name, refused in (("correlation", correlation), ("icc", icc)):
            if refused and getattr(self, name) is not None:
                raise UsageError(sentence.format(f"--{name}"), hint=f"omit `--{name}`")


@local_options(answer=SampleSize, exits=ExitCode.CONFLICT)
def power(
    ctx: typer.Context,
    *,
    runs: Annotated[
        list[str] | None,
        typer.Argument(metavar="[RUN] [OTHER]", help="Estimate the variance from saved runs."),
    ] = None,
    difference: Annotated[
        float | None, typer.Option("--difference", "-d", help="The difference to detect.")
    ] = None,
    examples: Annotated[
        int | None,
        typer.Option(
            "--examples", "-n", min=2, help="Number of examples: compute what they can detect."
        ),
    ] = None,
    rollouts: Annotated[
        int | None,
        typer.Option(
            "--rollouts",
            "-r",
            min=1,
            help="Rollouts per example and model.",
            show_default="as in two runs, else 1",
        ),
    ] = None,
    given: Given,
    alpha: Annotated[float, typer.Option("--alpha", help="Significance level.")] = ALPHA,
    power_: Annotated[
        float, typer.Option("--power", help="Probability of detecting the difference.")
    ] = _POWER,
) -> None:
    """Compute how many examples a comparison needs.

    Takes the variance of rewards from options, from one run (between and within examples), or from
    the differences of two runs. Computes for the test that `prime eval compare` uses. Needs
    the extra `stats`.

    \b
    Example:
      prime eval power --rate 0.6 --icc 0.5 --difference 0.05
      prime eval power 1f2e3d4c --examples 200 --rollouts 4
    \b
    See also: `prime eval compare`, `prime eval run`.
    """
    session = open_session(ctx)
    question = PowerQuestion(difference, examples, rollouts, alpha, power_)
    question.check()
    given.check(runs or [])
    require_statistics("Planning a comparison")
    with session.progress.task("Planning"):
        need = _need(runs or [], question, given)
    session.output.show(need, lines=_lines(need))


def _need(runs: list[str], question: PowerQuestion, given: Given) -> SampleSize:
    sides = [side_of(find_run(name, Path.cwd())) for name in runs]
    if len(sides) == _MOST_RUNS:
        return need_of_pair(question, sides[0], sides[1], given.icc)
    if given.discordance is not None:
        return need_of_discordance(question, given.discordance, "the given discordance")
    correlation = _CORRELATION if given.correlation is None else given.correlation
    known = variation_of(sides[0], correlation, given.icc) if sides else _given(given, correlation)
    told = "assumed" if given.correlation is None else "given"
    return need_of(question, msgspec.structs.replace(known, correlation_from=told))


def _given(given: Given, correlation: float) -> Variation:
    if given.icc is None:
        raise UsageError(ALIKE_UNKNOWN, hint=ALIKE_HINT)
    if given.rate is not None:
        variance, source = given.rate * (1 - given.rate), f"a rate of {given.rate}"
    else:
        deviation = given.sd or 0.0
        variance, source = deviation**2, f"a standard deviation of {deviation}"
    binary = given.rate is not None
    return Variation(variance, given.icc, correlation, source, given.rate, is_binary=binary)


def _lines(need: SampleSize) -> list[tuple[str, str]]:
    size = pluralize(need.rollouts, "rollout")
    chance = need.power if need.expected_power is None else need.expected_power
    lines = [
        ("Examples", "over 10 million" if need.examples is None else f"{need.examples:,}"),
        ("", f"each with {size} of each model"),
        ("Difference", format_number(need.difference, "none")),
        ("", f"detected in {format_share(chance)} of cases at alpha {need.alpha}"),
        ("From", need.source),
    ]
    if need.spread is not None:
        spread = format_number(need.spread)
        lines.append(("", f"differences of an example have a deviation of {spread}"))
    if need.discordance is not None:
        lines.append(("", f"{format_share(need.discordance)} of examples change"))
    if need.correlation is not None:
        told = f"{format_number(need.correlation)} ({need.correlation_from})"
        lines.append(("Correlation", f"of both models' expected rewards {told}"))
    if need.icc is not None:
        label = "" if need.correlation is not None else "Correlation"
        told = f"{format_number(need.icc)} ({need.icc_from})"
        lines.append((label, f"of rollouts of one example {told}"))
    lines.append(("Test", need.method))
    return lines
