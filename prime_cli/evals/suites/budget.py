"""The one budget of a suite, and what earlier sessions spent of it."""

from pathlib import Path

from prime_cli.core.errors import PartialResult
from prime_cli.evals.execution.earlier_sessions import read_earlier_sessions
from prime_cli.evals.suites.definition import SuiteLimits
from prime_cli.evals.suites.record import SuiteRecord
from prime_cli.models.prices import Budget
from prime_cli.runs.saved_run import open_run
from prime_cli.runs.spending import sum_of


def budget_for(limits: SuiteLimits, record: SuiteRecord, cwd: Path) -> Budget | None:
    """The Budget that all runs share; None without a cap.

    Raises PartialResult where the runs of earlier sessions have used it up.
    """
    if limits.max_cost is None and limits.token_budget is None:
        return None
    budget = Budget(limits.max_cost, limits.token_budget)
    for cell in record.cells:
        if cell.path is not None:
            earlier = read_earlier_sessions(open_run(cwd / cell.path).folder)
            budget.count(sum_of(earlier.spent.values()))
    if budget.reason is not None:
        raise PartialResult(
            budget.reason, hint=f"continue with more: `{resume_command(record)} --max-cost …`"
        )
    return budget


def resume_command(record: SuiteRecord) -> str:
    """What makes a suite go on."""
    return f"prime eval run {record.file} --resume {record.suite_id}"
