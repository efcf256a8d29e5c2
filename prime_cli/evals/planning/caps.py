"""The caps of a run, before it starts and after it was stopped by one."""

from prime_cli.core.errors import PartialResult, UsageError
from prime_cli.core.progress import Progress
from prime_cli.models.budget import Budget
from prime_cli.models.endpoints import Endpoint
from prime_cli.models.gateway.holds import unpriced
from prime_cli.models.price_book import PriceBook
from prime_cli.models.price_table import own_path
from prime_cli.models.prices import Spend
from prime_cli.runs.manifest import CAPPED
from prime_cli.runs.plan import EvalPlan, resume_command
from prime_cli.runs.summary import Summary


def budget_of(plan: EvalPlan) -> Budget | None:
    """The Budget that a run has for itself; None where its plan has no cap."""
    if plan.max_cost is None and plan.token_budget is None:
        return None
    return Budget(plan.max_cost, plan.token_budget)


def require_prices(max_cost: float | None, endpoint: Endpoint, prices: PriceBook) -> None:
    """Raise UsageError where a cap in USD is asked for and a model's price is not known."""
    if max_cost is None:
        return
    for member in endpoint.group:
        if prices.price_of(member) is None:
            raise UsageError(
                unpriced(member),
                hint=f"write its price into {own_path()}, or cap tokens: `--token-budget 1000000`",
            )


def require_room(
    budget: Budget, spent: Spend, run_id: str, plan: EvalPlan, progress: Progress
) -> None:
    """Count what earlier sessions spent; raises PartialResult where that used the budget up."""
    if spent.unpriced and budget.needs_prices:
        progress.warn(
            f"{spent.unpriced} calls of earlier sessions have no known cost, "
            "so the cap does not count them"
        )
    budget.count(spent)
    if budget.reason is not None:
        raise partial_at_cap(budget.reason, run_id, plan)


def check_cap(summary: Summary, plan: EvalPlan) -> None:
    """Raise PartialResult, with the command that goes on, when a cap has stopped the run."""
    if summary.status == CAPPED:
        raise partial_at_cap(summary.failure or "A cap is reached", summary.run_id, plan)


def partial_at_cap(reason: str, run_id: str, plan: EvalPlan) -> PartialResult:
    """What a run that a cap has stopped ends with."""
    return PartialResult(reason, hint=f"go on with `{_with_more(run_id, plan, reason)}`")


def _with_more(run_id: str, plan: EvalPlan, reason: str) -> str:
    command = resume_command(run_id, plan)
    if reason.startswith("The token budget") and plan.token_budget is not None:
        return f"{command} --token-budget {2 * plan.token_budget}"
    if reason.startswith("The cap of") and plan.max_cost is not None:
        return f"{command} --max-cost {2 * plan.max_cost:g}"
    return command
