"""Which runs may be shared without saying that they are not whole."""

from prime_cli.core.errors import PartialResult, UsageError
from prime_cli.runs.manifest import FINISHED
from prime_cli.runs.saved_run import SavedRun
from prime_cli.runs.summary import Summary
from prime_cli.runs.verdict import resume_words

_ANYWAY = "push it as it is with `--allow-partial`"


def require_whole(run: SavedRun, summary: Summary) -> None:
    """Raise PartialResult for a run that has not ended, or with more errors than its own limit.

    A folder of another tool names no limit: there, no rollout may have ended in an error.
    """
    counts = summary.counts
    done = counts.scored + counts.errored
    resume = f"finish it with `prime eval run --resume {summary.run_id}`, or {_ANYWAY}"
    if not done:
        raise UsageError(f"Run {summary.run_id} has no rollouts to push")
    if summary.status != FINISHED:
        raise PartialResult(
            f"Run {summary.run_id} is {summary.status}: {done} of {counts.planned} rollouts "
            "are there",
            hint=resume,
        )
    limit = run.manifest.plan.max_error_rate if run.manifest is not None else 0.0
    if summary.error_rate > limit:
        again = resume_words(summary, f"prime eval run --resume {summary.run_id}")
        raise PartialResult(
            f"{counts.errored} of {done} rollouts of run {summary.run_id} ended in an error",
            hint=f"{again}, or {_ANYWAY}" if again else _ANYWAY,
        )
