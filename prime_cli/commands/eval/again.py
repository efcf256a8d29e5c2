"""How a run that was made again is shown: its summary, and what became of the rewards."""

import msgspec

from prime_cli.commands.eval.interruption import leave_if_signalled
from prime_cli.commands.eval.views import summary_lines
from prime_cli.evals.execution.run import EvalResult
from prime_cli.evals.rerun.reward_changes import ChangedReward, RewardChanges, changed_rewards
from prime_cli.evals.rerun.source import Source
from prime_cli.runs.plan import resume_command
from prime_cli.runs.saved_run import open_run
from prime_cli.runs.summary import Summary
from prime_cli.session import Session


class AgainReport(msgspec.Struct, frozen=True):
    """What `--output json` prints; `of` is the run or evaluation that was made again."""

    of: str
    summary: Summary
    changes: RewardChanges

    @classmethod
    def of_result(
        cls, result: EvalResult, source: Source, only: frozenset[int] | None
    ) -> "AgainReport":
        """The report of `result`, whose rows are read once more."""
        now = open_run(result.folder.path).rows()
        before = (row for row in source.rows() if only is None or row.example_id in only)
        return cls(source.name, result.summary, changed_rewards(before, now))


def show_again(
    session: Session,
    result: EvalResult,
    source: Source,
    *,
    resumable: bool = True,
    only: frozenset[int] | None = None,
) -> None:
    """Print the summary and the changes, and say what to do next; leaves where a signal came.

    `only` are the examples that were made again, None for all of them.
    """
    report = AgainReport.of_result(result, source, only)
    lines = [*summary_lines(report.summary), *_change_lines(report)]
    session.output.show(report, lines=lines)
    command = resume_command(result.summary.run_id, result.plan) if resumable else None
    leave_if_signalled(session, result.signal, command)
    if report.changes.different and source.folder is not None:
        session.output.hint(
            f"see whether that means anything with "
            f"`prime eval compare {source.name} {result.summary.run_id}`"
        )


def _change_lines(report: AgainReport) -> list[tuple[str, str]]:
    changes = report.changes
    common = changes.same + changes.different
    if not changes.different:
        told = f"all {common} rewards are the same"
    else:
        told = f"{changes.different} of {common} rewards differ"
    lines = [(f"Against {report.of}", told)]
    if changes.different and changes.before is not None and changes.now is not None:
        lines.append(("", f"mean of these was {changes.before:.3f}, is {changes.now:.3f}"))
    lines.extend(
        (_place(each), f"{_reward(each.before)} -> {_reward(each.now)}") for each in changes.first
    )
    more = changes.different - len(changes.first)
    if more > 0:
        lines.append(("", f"and {more} more"))
    if changes.only_before:
        lines.append(("", f"{changes.only_before} rollouts were not made again"))
    return lines


def _place(changed: ChangedReward) -> str:
    return f"  {changed.example_id}.{changed.rollout}"


def _reward(value: float | None) -> str:
    return "error" if value is None else f"{value:.4g}"
