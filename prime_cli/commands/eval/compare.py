"""`prime eval compare`."""

from pathlib import Path
from typing import Annotated

import typer

from prime_cli.commands.eval.contrasts import comparison_lines, report_columns, report_rows
from prime_cli.commands.options import OutputOpt, QuietOpt, open_session
from prime_cli.core.errors import UsageError
from prime_cli.evals.comparison.compare import (
    ALPHA,
    SEED,
    Terms,
    check_alpha,
    compare_all,
    detectable_words,
    require_statistics,
)
from prime_cli.evals.comparison.records import UNDECIDED, Comparison, Report
from prime_cli.evals.comparison.selection import match, runs_meant
from prime_cli.evals.comparison.sides import Side, side_of
from prime_cli.runs.saved_run import SavedRun
from prime_cli.terminal.output import Output


def compare(
    ctx: typer.Context,
    runs: Annotated[
        list[str],
        typer.Argument(
            metavar="RUN RUN [RUN …]",
            help="Runs by id or folder, several as X,Y; a folder of runs; or a model.",
        ),
    ],
    errors_as_zero: Annotated[
        bool, typer.Option("--errors-as-zero", help="Count an error as reward 0.")
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Compare what is the same where contents differ.")
    ] = False,
    alpha: Annotated[
        float, typer.Option("--alpha", help="Accepted chance of a false finding.")
    ] = ALPHA,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Of what is drawn.")] = SEED,
    output: OutputOpt = None,
    quiet: QuietOpt = False,
) -> None:
    """Tell whether runs really differ.

    B, C … are each compared with A, example by example, and judged together (Holm). Of a folder
    or a model, the newest finished run of every environment is taken. Needs `prime-cli[stats]`.

    \b
    Example:
      prime eval compare 1f2e3d4c 9a8b7c6d
      prime eval compare gpt-4.1-mini gpt-4.1 --output json
    \b
    See also: `prime eval power`, `prime eval gate`, `prime eval show`.
    """
    session = open_session(ctx, output=output, quiet=quiet)
    if len(runs) == 1:
        raise UsageError("There is only one run to compare", hint="name two or more")
    check_alpha(alpha)
    require_statistics()
    matching = match([runs_meant(word, Path.cwd()) for word in runs])
    terms = Terms(alpha=alpha, seed=seed, errors_as_zero=errors_as_zero, force=force)
    with session.progress.task("Comparing"):
        comparisons = compare_all(_read(matching.couples), terms)
    report = Report(
        alpha=alpha,
        seed=seed,
        errors="as zero" if errors_as_zero else "left out",
        comparisons=comparisons,
        unmatched=matching.unmatched,
    )
    _show(session.output, report)


def _read(couples: list[tuple[SavedRun, SavedRun]]) -> list[tuple[Side, Side]]:
    """Read each run once, however many it is compared with."""
    known: dict[Path, Side] = {}
    for run in (run for couple in couples for run in couple):
        if run.folder.path not in known:
            known[run.folder.path] = side_of(run)
    return [(known[a.folder.path], known[b.folder.path]) for a, b in couples]


def _show(output: Output, report: Report) -> None:
    comparisons = report.comparisons
    if len(comparisons) == 1 and output.mode != "jsonl":
        output.show(report, lines=comparison_lines(comparisons[0], report))
    else:
        output.table(report_columns(report), report_rows(report), records=comparisons, page=report)
        for each in comparisons:
            names = f"{each.other.name} and {each.first.name}"
            if each.verdict == UNDECIDED:
                output.say(f"{names}: {UNDECIDED}; {detectable_words(each)}")
            if each.disagreement:
                output.say(f"{names}: {each.disagreement}")
    for name in report.unmatched:
        output.warn(f"{name} has no counterpart and is left out")
    flipped = next((each for each in comparisons if each.flips), None)
    if flipped:
        output.hint(_next_step(flipped))


def _next_step(comparison: Comparison) -> str:
    example = comparison.flips[0].example_id
    return (
        f"read a flip with `prime eval show {comparison.first.name} --example {example}` and "
        f"`prime eval show {comparison.other.name} --example {example}`"
    )
