"""Whether a finished run counts as good: for the exit code."""

from prime_cli.core.errors import PartialResult
from prime_cli.evals.plan import EvalPlan
from prime_cli.evals.resuming.command import resume_command
from prime_cli.evals.summary import Summary


def check_errors(summary: Summary, plan: EvalPlan) -> None:
    """Raise PartialResult when a larger share of the finished rollouts errored than may."""
    max_error_rate = plan.max_error_rate
    if summary.error_rate <= max_error_rate:
        return
    counts = summary.counts
    limit = f", above the limit of {max_error_rate:.0%}" if max_error_rate else ""
    raise PartialResult(
        f"{counts.errored} of {counts.scored + counts.errored} rollouts ended in an error{limit}",
        hint=f"see what happened with `prime eval show {summary.run_id} --errors`, "
        f"run those again with `{resume_command(summary.run_id, plan)}`",
    )
