"""Whether a finished run counts as good: for the exit code."""

from prime_cli.core.errors import PartialResult
from prime_cli.runs.access_requests import allow_hint
from prime_cli.runs.manifest import FINISHED
from prime_cli.runs.plan import EvalPlan, resume_command
from prime_cli.runs.summary import Summary


def check_errors(summary: Summary, plan: EvalPlan) -> None:
    """Raise PartialResult when a larger share of the finished rollouts errored than may."""
    again = resume_words(summary, resume_command(summary.run_id, plan))
    check_error_rate(summary, plan.max_error_rate, again=again)


def resume_words(summary: Summary, command: str) -> str | None:
    """What `command`, which resumes the run, does with its errors; None where nobody knows."""
    steps = summary.on_resume
    if steps is None:
        return None
    does = []
    if steps.ask:
        does.append(f"asks again for {steps.ask} without an answer")
    if steps.score:
        does.append(f"scores {steps.score} saved {_answers(steps.score)} again")
    if not does:
        return f"`{command} --retry-errors` also asks again for those with an answer"
    kept = f"; {steps.keep} stay unless you add `--retry-errors`" if steps.keep else ""
    return f"`{command}` {' and '.join(does)}{kept}"


def _answers(count: int) -> str:
    return "answer" if count == 1 else "answers"


def check_error_rate(
    summary: Summary, limit: float, *, again: str | None = None, key: str | None = None
) -> None:
    """The same for a run whose plan need not be known.

    `again` tells how to run those again, `key` which evaluation of a suite it is.
    """
    counts = summary.counts
    rollouts = "rollouts" if key is None else f"rollouts of `{key}`"
    errored = f"{counts.errored} of {counts.scored + counts.errored} {rollouts} ended in an error"
    blamed = [each for each in summary.withheld if each.may_explain_errors]
    if blamed and counts.errored:
        names = ", ".join(sorted({each.name for each in blamed}))
        raise PartialResult(
            f"{errored} after the environment had asked for {names}",
            hint=f"{allow_hint(blamed)} in a new run, or see what happened with "
            f"`prime eval show {summary.run_id} --errors`",
        )
    if summary.error_rate <= limit:
        return
    above = f", above the limit of {limit:.0%}" if limit else ""
    look = f"see what happened with `prime eval show {summary.run_id} --errors`"
    raise PartialResult(
        f"{errored}{above}",
        hint=f"{look}, {again}" if again else look,
    )


def check_ended(summary: Summary) -> None:
    """Raise PartialResult for a saved run that has not come to its end."""
    if summary.status == FINISHED:
        return
    counts = summary.counts
    raise PartialResult(
        f"Run {summary.run_id} is {summary.status}: {counts.scored + counts.errored} of "
        f"{counts.planned} rollouts are done",
        hint=f"finish it with `prime eval run --resume {summary.run_id}`",
    )
