"""Whether a finished run counts as good: for the exit code."""

from prime_cli.core.errors import PartialResult
from prime_cli.evals.summary import Summary


def check_errors(summary: Summary, max_error_rate: float) -> None:
    """Raise PartialResult when a larger share of the finished rollouts errored than may."""
    if summary.error_rate <= max_error_rate:
        return
    counts = summary.counts
    limit = f", above the limit of {max_error_rate:.0%}" if max_error_rate else ""
    raise PartialResult(
        f"{counts.errored} of {counts.scored + counts.errored} rollouts ended in an error{limit}",
        hint=f"see what happened with `prime eval show {summary.run_id} --errors`",
    )
