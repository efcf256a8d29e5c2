"""The cost of a run: estimated before it starts, and capped."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from prime_cli.core.errors import PartialResult, UsageError
from prime_cli.core.formatting import format_exact, format_usd, pluralize
from prime_cli.core.http import is_loopback
from prime_cli.core.progress import Progress
from prime_cli.models.endpoints import Endpoint
from prime_cli.models.gateway.holds import unpriced
from prime_cli.models.price_book import PriceBook, own_path
from prime_cli.models.prices import FREE, PICO, Budget, Price, Spend, TokenUsage, format_cost
from prime_cli.runs.listing import list_runs
from prime_cli.runs.manifest import CAPPED, INTERRUPTED, RunManifest
from prime_cli.runs.plan import ALL, EvalPlan, Shard, resume_command
from prime_cli.runs.saved_run import open_run
from prime_cli.runs.spending import spend_of
from prime_cli.runs.summary import Summary

_LIMITS = ("max_completion_tokens", "max_tokens")


@dataclass(frozen=True)
class Estimate:
    """USD for `rollouts` rollouts; a part is None without data.

    `cost` is that of as many rollouts of run `like`, whose model was `model` if it is another one;
    `partial` means that one of its judges had no known price. `limit` is the cost if every
    completion had `max_tokens`; it omits input if no run shows how much there is.
    """

    rollouts: int | None = None
    cost: float | None = None
    partial: bool = False
    like: str | None = None
    limit: float | None = None
    max_tokens: int | None = None
    model: str | None = None

    def words(self) -> str:
        """The estimate in words."""
        if self.rollouts is None:
            return "unknown before the examples are loaded"
        many = f"{pluralize(self.rollouts, 'rollout')}"
        if self.cost is None:
            told = "unknown before a first run"
            if self.limit is None:
                return told
            return f"{told}; {many} of one completion write at most {format_usd(self.limit)}"
        about = "at least" if self.partial else "about"
        of = f" with another model, `{self.model}`" if self.model else ""
        told = f"{about} {format_usd(self.cost)} for {many}, as run {self.like} used{of}"
        if self.limit is None or self.partial:
            return told
        return (
            f"{told}; at most {format_usd(self.limit)} at {self.max_tokens:,} tokens a completion"
        )


def estimate(plan: EvalPlan, price: Price, cwd: Path, *, done: int = 0) -> Estimate:
    """The Estimate for a run of `plan` at `price`, with `done` rollouts already finished.

    It is based on runs of the same environment below `cwd`: the newest of the same model, else the
    newest.
    """
    before = _earlier_run(plan, cwd)
    rollouts = _rollouts(plan, before, done)
    tokens = next((plan.sampling[name] for name in _LIMITS if plan.sampling.get(name)), None)
    if rollouts is None:
        return Estimate()
    if before is None:
        limit = None if tokens is None else _usd(price, TokenUsage(output=rollouts * tokens))
        return Estimate(rollouts, limit=limit, max_tokens=tokens)
    policy, judges = _used(before.usage)
    share = rollouts / _finished(before)
    whole = price.cost(policy) / PICO + judges.known_usd
    limit = None
    if tokens is not None:
        longest = TokenUsage(input=policy.input, output=max(policy.output, policy.calls * tokens))
        limit = share * (_usd(price, longest) + judges.known_usd)
    other = before.plan.model if before.plan.model != plan.model else None
    return Estimate(
        rollouts, share * whole, judges.unpriced > 0, before.run_id, limit, tokens, other
    )


def _usd(price: Price, usage: TokenUsage) -> float:
    return price.cost(usage) / PICO


def _rollouts(plan: EvalPlan, before: RunManifest | None, done: int) -> int | None:
    examples = plan.num_examples
    all_of_them = None
    if before is not None and before.plan.num_examples == ALL:
        all_of_them = before.examples
    if examples == ALL:
        if all_of_them is None:
            return None
        examples = all_of_them
    elif all_of_them is not None:
        examples = min(examples, all_of_them)
    if plan.shard is not None:
        examples = len(plan.shard.of(range(examples)))
    return max(0, examples * plan.rollouts_per_example - done)


def _earlier_run(plan: EvalPlan, cwd: Path) -> RunManifest | None:
    found = list(_usable(plan, cwd))
    same = (run for run in found if run.plan.model == plan.model)
    return next(same, found[0] if found else None)


def _usable(plan: EvalPlan, cwd: Path) -> Iterable[RunManifest]:
    """Runs of the environment that counted tokens, newest first. Built-in models count words."""
    for item in list_runs(cwd):
        if not item.is_of(plan.environment.slug):
            continue
        manifest = open_run(Path(item.path)).manifest
        if manifest is None:
            continue
        usage = manifest.usage
        # With answers from the cache a run shows less than the next one may use.
        unsure = usage.get("estimated") or usage.get("uncounted") or usage.get("hits")
        counted = usage.get("calls") and not unsure
        if counted and _finished(manifest) and manifest.plan.env_args == plan.env_args:
            yield manifest


def _finished(manifest: RunManifest) -> int:
    return manifest.counts.scored + manifest.counts.errored if manifest.counts else 0


def _used(usage: Mapping[str, Any]) -> tuple[TokenUsage, Spend]:
    """The usage of the policy, and of all other roles."""
    roles = usage.get("roles")
    if roles is None:
        return spend_of(usage).usage, Spend()
    judges = (spend_of(counts) for role, counts in roles.items() if role != "policy")
    return spend_of(roles.get("policy", {})).usage, sum(judges, Spend())


def budget_of(plan: EvalPlan) -> Budget | None:
    """The Budget of a single run; None if its plan has no cap. A part of a run has its share.

    Raises UsageError for a share of no tokens.
    """
    if plan.max_cost is None and plan.token_budget is None:
        return None
    tokens, shard = plan.token_budget, plan.shard
    if shard is None:
        return Budget(plan.max_cost, tokens)
    if tokens is not None and not shard.share(tokens):
        raise UsageError(f"`--token-budget {tokens}` leaves no token for each of {shard.count}")
    cost = None if plan.max_cost is None else plan.max_cost / shard.count
    return Budget(cost, None if tokens is None else shard.share(tokens))


def shard_words(plan: EvalPlan, shard: Shard) -> str:
    """The part that is run, and its share of each cap."""
    shares, budget = [], budget_of(plan)
    if budget is not None and budget.max_cost is not None:
        whole = format_exact(plan.max_cost or 0)
        shares.append(f"{format_usd(budget.max_cost)} of `--max-cost {whole}`")
    if budget is not None and budget.token_budget is not None:
        shares.append(f"{budget.token_budget:,} of `--token-budget {plan.token_budget}`")
    told = f"Part {shard.number} of {shard.count}"
    return f"{told}, which may spend {' and '.join(shares)}" if shares else told


def require_prices(max_cost: float | None, endpoint: Endpoint, prices: PriceBook) -> None:
    """Raise UsageError for a cap in USD if a model's price is unknown."""
    if max_cost is None:
        return
    for member in endpoint.group:
        if prices.price_of(member) is None:
            raise UsageError(
                unpriced(member),
                hint=f"add its price to {own_path()}, or limit tokens: `--token-budget 1000000`",
            )


def require_above(max_cost: float, spent: Spend, what: str) -> None:
    """Raise UsageError for a new cap in USD that a `run` or `training` has reached already."""
    if max_cost <= spent.known_usd:
        raise UsageError(
            f"{format_cost(spent)} is spent already, not less than {format_usd(max_cost)}",
            hint=f"name a higher cap, or end the {what} with `prime eval ctl drain`",
        )


def free_at_home(endpoint: Endpoint, prices: PriceBook) -> Endpoint:
    """`endpoint` at no price where this machine serves the model, and the user gave it none."""
    if is_loopback(endpoint.url) and prices.price_of(endpoint) is None:
        endpoint = replace(endpoint, price=FREE)
    return replace(endpoint, others=tuple(free_at_home(each, prices) for each in endpoint.others))


def require_room(
    budget: Budget, spent: Spend, run_id: str, plan: EvalPlan, progress: Progress
) -> None:
    """Count what earlier sessions spent; raises PartialResult if that exhausts the budget."""
    count_earlier(budget, spent, progress)
    if budget.reason is not None:
        raise partial_at_cap(budget.reason, run_id, plan)


def count_earlier(budget: Budget, spent: Spend, progress: Progress) -> None:
    """Count what earlier sessions spent; the budget's reason says whether that exhausts it."""
    if spent.unpriced and budget.needs_prices:
        progress.warn(
            f"{spent.unpriced} calls of earlier sessions have no known cost, "
            "so the cap does not count them"
        )
    budget.count(spent)


def check_cap(summary: Summary, plan: EvalPlan) -> None:
    """Raise PartialResult, with the command to resume, if a cap or a person has stopped the run."""
    is_drained = summary.status == INTERRUPTED and summary.failure is not None
    if summary.status == CAPPED or is_drained:
        raise partial_at_cap(summary.failure or "A cap is reached", summary.run_id, plan)


def partial_at_cap(reason: str, run_id: str, plan: EvalPlan) -> PartialResult:
    """The error of a run that a cap has stopped."""
    return PartialResult(reason, hint=f"continue with `{_with_more(run_id, plan, reason)}`")


def _with_more(run_id: str, plan: EvalPlan, reason: str) -> str:
    command = resume_command(run_id, plan)
    if reason.startswith("The token budget") and plan.token_budget is not None:
        return f"{command} --token-budget {2 * plan.token_budget}"
    if reason.startswith("The cap of") and plan.max_cost is not None:
        return f"{command} --max-cost {format_exact(2 * plan.max_cost)}"
    return command
