"""`prime eval compare`: one comparison as labelled lines, several as a table."""

from pathlib import Path
from typing import Annotated

import typer

from prime_cli.commands.options import local_options, open_session
from prime_cli.core.errors import ExitCode, UsageError
from prime_cli.core.formatting import (
    format_apart,
    format_difference,
    format_interval,
    format_number,
    format_p,
    pluralize,
)
from prime_cli.runs.comparison.compare import (
    UNDECIDED,
    CompareOptions,
    Comparison,
    Report,
    check_alpha,
    compare_all,
    detectable_words,
    require_statistics,
)
from prime_cli.runs.comparison.sides import Side, match, runs_meant, side_of
from prime_cli.runs.saved_run import SavedRun
from prime_cli.terminal.output import Output


@local_options(answer=Report, record=Comparison, exits=ExitCode.CONFLICT)
def compare(
    ctx: typer.Context,
    runs: Annotated[
        list[str],
        typer.Argument(
            metavar="RUN RUN [RUN …]",
            help="Runs by id or folder (several as X,Y), a folder of runs, or a model.",
        ),
    ],
    terms: CompareOptions,
) -> None:
    """Test whether runs differ significantly.

    Compares each of B, C … with A, example by example, and adjusts for several comparisons (Holm).
    A folder or model stands for its newest finished run of every environment. Needs the
    extra `stats`.

    \b
    Example:
      prime eval compare 1f2e3d4c 9a8b7c6d
      prime eval compare gpt-4.1-mini gpt-4.1 --output json
    \b
    See also: `prime eval power`, `prime eval gate`, `prime eval show`.
    """
    session = open_session(ctx)
    if len(runs) == 1:
        raise UsageError("Only one run was given", hint="pass two or more")
    check_alpha(terms.alpha)
    require_statistics()
    matching = match([runs_meant(word, Path.cwd()) for word in runs])
    with session.progress.task("Comparing"):
        comparisons = compare_all(_read(matching.couples), terms)
    report = Report(
        alpha=terms.alpha,
        seed=terms.seed,
        errors="as zero" if terms.errors_as_zero else "left out",
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
        output.warn(f"{name} has no counterpart and is omitted")
    flipped = next((each for each in comparisons if each.flips), None)
    if flipped:
        output.hint(_next_step(flipped))


def _next_step(comparison: Comparison) -> str:
    example = comparison.flips[0].example_id
    return (
        f"read a flip with `prime eval show {comparison.first.name} --example {example}` and "
        f"`prime eval show {comparison.other.name} --example {example}`"
    )


_MOST_SHOWN = 10

"""Flips that are printed; all are in `--output json`."""


def comparison_lines(comparison: Comparison, report: Report) -> list[tuple[str, str]]:
    """One comparison: the runs, the difference with its interval and p, the verdict, the flips."""
    lines = [
        ("Environment", comparison.other.environment),
        *_sides(comparison),
        ("Difference", f"{format_difference(comparison.difference)} (B - A)"),
        ("", interval_text(comparison, report)),
        ("p", _p_words(comparison, report)),
        ("Verdict", _verdict(comparison)),
        *([("", comparison.disagreement)] if comparison.disagreement else []),
        ("", detectable_words(comparison)),
        ("Examples", _examples(comparison)),
        ("Errors", _errors(comparison, report)),
    ]
    lines.extend(("Note", note) for note in comparison.notes)
    lines.append(("Flips", _flip_counts(comparison)))
    lines.extend(
        ("", f"example {flip.example_id}: {format_interval((flip.first, flip.other))}")
        for flip in comparison.flips[:_MOST_SHOWN]
    )
    more = len(comparison.flips) - _MOST_SHOWN
    if more > 0:
        lines.append(("", f"… {more} more with `--output json`"))
    return lines


def report_columns(report: Report) -> tuple[str, ...]:
    """The columns of several comparisons."""
    level = _level(report)
    decisive = ("Environment", "B", "B - A", f"{level} interval", "Holm p", "Verdict")
    return (*decisive, "A", "Mean A", "Mean B", "p")


def report_rows(report: Report) -> list[list[str]]:
    """A row for each of several comparisons."""
    return [
        [
            each.other.environment,
            each.other.name,
            format_difference(each.difference),
            format_interval(each.interval, signed=True) or "none",
            format_p(each.p_adjusted, report.alpha),
            each.verdict,
            each.first.name,
            format_number(each.first.mean),
            format_number(each.other.mean),
            format_p(each.p, report.alpha),
        ]
        for each in report.comparisons
    ]


def interval_text(comparison: Comparison, report: Report) -> str:
    """`95 % interval -0.1 to +0.2 (bootstrap-t, seed 1)`, or why there is none."""
    interval = format_interval(comparison.interval, signed=True)
    if not interval:
        return "no interval: too few examples differ"
    drawn = f", seed {report.seed}" if comparison.interval_method.startswith("bootstrap") else ""
    return f"{_level(report)} interval {interval} ({comparison.interval_method}{drawn})"


def _level(report: Report) -> str:
    return f"{format_number(100 * (1 - report.alpha))} %"


def _sides(comparison: Comparison) -> list[tuple[str, str]]:
    sides = (comparison.first, comparison.other)
    means = format_apart([side.mean for side in sides])
    width = max(map(len, means))
    return [
        (label, f"{mean:{width}}  {side.name}  {side.model}")
        for label, mean, side in zip("AB", means, sides, strict=True)
    ]


def _p_words(comparison: Comparison, report: Report) -> str:
    drawn = f", seed {report.seed}" if comparison.test.startswith("sign") else ""
    return f"{format_p(comparison.p, report.alpha)} ({comparison.test} test{drawn})"


def _verdict(comparison: Comparison) -> str:
    return comparison.sentence.replace(f"{comparison.other.name} scores", "B scores").replace(
        f"than {comparison.first.name}", "than A"
    )


def _examples(comparison: Comparison) -> str:
    counts = comparison.examples
    parts = [f"{counts.compared:,} compared"]
    if counts.one_sided:
        parts.append(f"{counts.one_sided:,} in one run only")
    if counts.unlike:
        parts.append(f"{counts.unlike:,} with different prompts or answers left out")
    if counts.unscored:
        parts.append(f"{counts.unscored:,} without a reward on a side left out")
    return ", ".join(parts)


def _errors(comparison: Comparison, report: Report) -> str:
    first, other = comparison.first, comparison.other
    if not first.errors + other.errors:
        return "none"
    of_other = pluralize(other.rollouts, "rollout")
    told = f"A {first.errors:,} of {first.rollouts:,}, B {other.errors:,} of {of_other}"
    if report.errors == "as zero":
        return f"{told}, counted as 0"
    return f"{told}, left out (`--errors-as-zero` counts them)"


def _flip_counts(comparison: Comparison) -> str:
    up = sum(flip.other > flip.first for flip in comparison.flips)
    return f"{pluralize(up, 'example')} up, {len(comparison.flips) - up} down"
