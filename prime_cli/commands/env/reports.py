"""How a person reads the report of a check."""

from prime_cli.terminal.output import Output
from prime_cli.wire.check_reports import CheckReport, in_words, summarize
from prime_cli.wire.codec import to_builtins

_TELLING = ("warn", "fail")


def show_report(output: Output, report: CheckReport) -> None:
    """One line for each check, and below what to do about those that are not passed."""
    rows = [[check.id, check.status, check.sentence] for check in report.checks]
    records = [to_builtins(check) for check in report.checks]
    output.table(["Check", "Status", "Found"], rows, records=records, page=to_builtins(report))
    for check in report.checks:
        if check.status in _TELLING and check.step:
            output.say(f"{check.id}: {check.step}")
    output.say(f"{report.environment}: {in_words(summarize(report))}")


def say_report(output: Output, report: CheckReport) -> None:
    """The same as talk, where the data is something else: what did not pass, and the counts."""
    for check in report.checks:
        if check.status in _TELLING:
            output.warn(f"{check.id} ({check.status}): {check.sentence}", hint=check.step)
    output.say(f"check: {in_words(summarize(report))}")
