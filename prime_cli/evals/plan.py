"""The plan of a run: every value that the run uses, decided once, printed and saved."""

import math
from typing import Any

import msgspec

from prime_cli.core.errors import UsageError
from prime_cli.evals.deadlines import Deadlines
from prime_cli.evals.defaults import EvalDefaults
from prime_cli.evals.request import EvalRequest
from prime_cli.models.budget import dollars

NUM_EXAMPLES = 5
ROLLOUTS_PER_EXAMPLE = 3
CONCURRENCY = 32
ALL = -1
"""`num_examples` that means every example there is."""


class PlannedEnvironment(msgspec.Struct, frozen=True):
    """The environment as its wheel names it.

    `ref` is `owner/name@version` when it came from a hub, `path` the folder or wheel when it did
    not. `module` is what is imported, `sha256` that of the wheel.
    """

    name: str
    version: str
    module: str
    sha256: str
    ref: str | None = None
    path: str | None = None

    @property
    def slug(self) -> str:
        """`owner/name`, or the bare name of a local one."""
        return self.ref.split("@")[0] if self.ref else self.name

    @property
    def title(self) -> str:
        """What a person reads: the reference, else name and version."""
        return self.ref or f"{self.name}@{self.version}"


class EvalPlan(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that decides what a run does; holds no key.

    `endpoint` is the base URL, or `builtin`. `sampling` is what every call carries. `concurrency`
    counts rollouts, `max_cost` USD and `token_budget` tokens, both of all sessions together. Those
    of the last group cannot change a score; all others can.
    """

    environment: PlannedEnvironment
    model: str
    endpoint: str
    num_examples: int
    rollouts_per_example: int
    sampling: dict[str, Any]
    env_args: dict[str, Any]
    extra_args: dict[str, Any]
    independent_scoring: bool = False
    seed: int | None = None
    verifiers: str | None = None
    python: str | None = None

    state_columns: tuple[str, ...] = ()
    concurrency: int = CONCURRENCY
    max_retries: int = 0
    max_error_rate: float = 0.0
    fail_fast: bool = True
    headers: tuple[str, ...] = ()
    env_vars: tuple[str, ...] = ()
    sandbox: bool = False
    allow_net: bool = False
    only_gateway: bool = False
    max_cost: float | None = None
    token_budget: int | None = None
    deadlines: Deadlines = Deadlines()
    cache: bool = False

    def lines(self) -> list[tuple[str, str]]:
        """The plan as labelled lines, one decision each."""
        examples = "all" if self.num_examples == ALL else str(self.num_examples)
        lines = [
            ("Environment", self.environment.title),
            ("Model", f"{self.model} at {self.endpoint}"),
            ("Rollouts", f"{examples} examples x {self.rollouts_per_example}"),
            ("Concurrency", str(self.concurrency)),
            ("Deadlines", str(self.deadlines)),
        ]
        if self.max_cost is not None:
            lines.append(("Cost", f"at most {dollars(self.max_cost)}"))
        if self.token_budget is not None:
            lines.append(("Tokens", f"at most {self.token_budget:,}"))
        if self.only_gateway:
            lines.append(("Network", "none but the gateway"))
        if self.cache:
            lines.append(("Cache", "answers are kept, and given again for the same request"))
        for label, values in (("Sampling", self.sampling), ("Arguments", self.env_args)):
            if values:
                lines.append((label, msgspec.json.encode(values).decode()))
        return lines


def make_plan(
    request: EvalRequest,
    environment: PlannedEnvironment,
    defaults: EvalDefaults,
    *,
    model: str,
    endpoint: str,
    header_names: tuple[str, ...] = (),
) -> EvalPlan:
    """Decide: flags win over what the environment declares, that over vf-eval's defaults.

    Raises UsageError for numbers that cannot be meant.
    """
    plan = EvalPlan(
        environment=environment,
        model=model,
        endpoint=endpoint,
        num_examples=_first(request.num_examples, defaults.num_examples, NUM_EXAMPLES),
        rollouts_per_example=_first(
            request.rollouts_per_example, defaults.rollouts_per_example, ROLLOUTS_PER_EXAMPLE
        ),
        sampling=_sampling(request, defaults),
        env_args=request.env_args or {},
        extra_args=request.extra_args or {},
        independent_scoring=request.independent_scoring,
        verifiers=request.verifiers,
        python=request.python,
        state_columns=request.state_columns,
        concurrency=_first(request.max_concurrent, CONCURRENCY),
        max_retries=request.max_retries,
        max_error_rate=request.max_error_rate,
        fail_fast=request.fail_fast is not False,
        headers=header_names,
        env_vars=request.env_vars,
        sandbox=request.sandbox,
        allow_net=request.allow_net,
        only_gateway=request.only_gateway,
        max_cost=request.max_cost,
        token_budget=request.token_budget,
        deadlines=request.deadlines,
        cache=request.cache,
    )
    _check(plan)
    return plan


def _first(*values: int | None) -> int:
    return next(value for value in values if value is not None)


def _sampling(request: EvalRequest, defaults: EvalDefaults) -> dict[str, Any]:
    """`-S` wins over `-t` and `-T`, as in vf-eval; unset values are left to the endpoint."""
    sampling: dict[str, Any] = {}
    tokens = request.max_tokens if request.max_tokens is not None else defaults.max_tokens
    heat = request.temperature if request.temperature is not None else defaults.temperature
    if tokens is not None:
        sampling["max_tokens"] = tokens
    if heat is not None:
        sampling["temperature"] = heat
    return sampling | (request.sampling or {})


def _check(plan: EvalPlan) -> None:
    if plan.num_examples != ALL and plan.num_examples < 1:
        raise UsageError(f"`-n {plan.num_examples}` is not a number of examples (-1 means all)")
    if plan.rollouts_per_example < 1:
        raise UsageError(f"`-r {plan.rollouts_per_example}` is not a number of rollouts")
    if plan.concurrency < 1:
        # vf-eval reads -1 as "no limit"; a number keeps memory and endpoint within bounds.
        raise UsageError(f"`-c {plan.concurrency}` is not a number of rollouts at a time")
    if plan.allow_net and not plan.sandbox:
        raise UsageError(
            "`--allow-net` opens a sandbox, and there is none",
            hint="add `--sandbox`, or leave it out",
        )
    if plan.allow_net and plan.only_gateway:
        raise UsageError("`--allow-net` and `--only-gateway` exclude each other")
    if plan.max_cost is not None and not 0 < plan.max_cost < math.inf:
        raise UsageError(f"`--max-cost {plan.max_cost:g}` is not an amount in USD")
    if plan.token_budget is not None and plan.token_budget < 1:
        raise UsageError(f"`--token-budget {plan.token_budget}` is not a number of tokens")
    if not 0 <= plan.max_error_rate <= 1:
        raise UsageError(f"`--max-error-rate {plan.max_error_rate}` is not between 0 and 1")
