"""How a person reads a comparison: one as labelled lines, several as a table."""

from prime_cli.evals.comparison.compare import detectable_words
from prime_cli.evals.comparison.records import Comparison, Report, SideFacts

_MOST_SHOWN = 10
"""Flips that are printed; all are in `--output json`."""

_SMALLEST_DECIMAL = 0.0001
"""A smaller probability would be printed as 0.0000."""


def comparison_lines(comparison: Comparison, report: Report) -> list[tuple[str, str]]:
    """One comparison: the runs, the difference with its interval and p, the verdict, the flips."""
    lines = [
        ("Environment", comparison.other.environment),
        ("A", _side(comparison.first)),
        ("B", _side(comparison.other)),
        ("Difference", f"{signed(comparison.difference)} (B - A)"),
        ("", interval_words(comparison, report)),
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
        ("", f"example {flip.example_id}: {_number(flip.first)} to {_number(flip.other)}")
        for flip in comparison.flips[:_MOST_SHOWN]
    )
    more = len(comparison.flips) - _MOST_SHOWN
    if more > 0:
        lines.append(("", f"… {more} more with `--output json`"))
    return lines


def report_columns(report: Report) -> tuple[str, ...]:
    """The columns of several comparisons."""
    level = f"{1 - report.alpha:.0%} interval"
    decisive = ("Environment", "B", "B - A", level, "Holm p", "Verdict")
    return (*decisive, "A", "Mean A", "Mean B", "p")


def report_rows(report: Report) -> list[list[str]]:
    """A row for each of several comparisons."""
    return [
        [
            each.other.environment,
            each.other.name,
            signed(each.difference),
            _interval(each) or "none",
            _probability(each.p_adjusted),
            each.verdict,
            each.first.name,
            _number(each.first.mean),
            _number(each.other.mean),
            _probability(each.p),
        ]
        for each in report.comparisons
    ]


def interval_words(comparison: Comparison, report: Report) -> str:
    """`95 % interval -0.1 to +0.2 (bootstrap-t, seed 1)`, or why there is none."""
    interval = _interval(comparison)
    if interval is None:
        return "no interval: too few examples differ to draw one"
    drawn = f", seed {report.seed}" if comparison.interval_method.startswith("bootstrap") else ""
    level = f"{(1 - report.alpha) * 100:g} %"
    return f"{level} interval {interval} ({comparison.interval_method}{drawn})"


def signed(value: float) -> str:
    """A difference with its sign, to a thousandth."""
    return f"{value:+.3f}"


def _side(side: SideFacts) -> str:
    return f"{_number(side.mean)}  {side.name}  {side.model}"


def _interval(comparison: Comparison) -> str | None:
    if comparison.interval is None:
        return None
    low, high = comparison.interval
    return f"{signed(low)} to {signed(high)}"


def _p_words(comparison: Comparison, report: Report) -> str:
    drawn = f", seed {report.seed}" if comparison.test.startswith("sign") else ""
    return f"{_probability(comparison.p)} ({comparison.test} test{drawn})"


def _verdict(comparison: Comparison) -> str:
    return comparison.sentence.replace(f"{comparison.other.name} is", "B is").replace(
        f"than {comparison.first.name}", "than A"
    )


def _examples(comparison: Comparison) -> str:
    counts = comparison.examples
    parts = [f"{counts.compared} compared"]
    if counts.one_sided:
        parts.append(f"{counts.one_sided} in one run only")
    if counts.unlike:
        parts.append(f"{counts.unlike} that ask something else left out")
    if counts.unscored:
        parts.append(f"{counts.unscored} without a reward on a side left out")
    return ", ".join(parts)


def _errors(comparison: Comparison, report: Report) -> str:
    first, other = comparison.first, comparison.other
    if not first.errors + other.errors:
        return "none"
    told = f"A {first.errors} of {first.rollouts}, B {other.errors} of {other.rollouts} rollouts"
    if report.errors == "as zero":
        return f"{told}, counted as 0"
    return f"{told}, left out (`--errors-as-zero` counts them)"


def _flip_counts(comparison: Comparison) -> str:
    up = sum(flip.other > flip.first for flip in comparison.flips)
    return f"{up} examples up, {len(comparison.flips) - up} down"


def _number(value: float) -> str:
    return f"{value:.3f}"


def _probability(value: float) -> str:
    return f"{value:.4f}" if value >= _SMALLEST_DECIMAL else f"{value:.1e}"
