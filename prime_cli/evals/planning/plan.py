"""Makes a plan: flags, else what the environment declares, else the defaults of vf-eval."""

import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from prime_cli.archive.wheels import open_wheel
from prime_cli.core.errors import UsageError
from prime_cli.envs.project.pyproject import FILENAME
from prime_cli.evals.planning.request import EvalRequest, plan_fields
from prime_cli.runs.plan import ALL, EvalPlan, PlannedEnvironment

_LARGEST = 1_000_000
"""Bytes of a pyproject.toml that are read out of a wheel."""


@dataclass(frozen=True)
class EvalDefaults:
    """What `[tool.verifiers.eval]` says; `num_examples` -1 means all of them."""

    num_examples: int | None = None
    rollouts_per_example: int | None = None
    max_tokens: int | None = None
    temperature: float | None = None


def defaults_from(table: Mapping[str, Any]) -> EvalDefaults:
    """EvalDefaults of a `[tool.verifiers.eval]` table; values of the wrong type are ignored."""
    return EvalDefaults(
        num_examples=_whole(table.get("num_examples")),
        rollouts_per_example=_whole(table.get("rollouts_per_example")),
        max_tokens=_whole(table.get("max_tokens")),
        temperature=_number(table.get("temperature")),
    )


def defaults_in(pyproject: str) -> EvalDefaults:
    """The defaults in the text of a pyproject.toml; none when it is not TOML."""
    return defaults_from(_eval_table(pyproject))


def defaults_in_wheel(wheel: Path, module: str) -> EvalDefaults:
    """The defaults in the pyproject.toml that a wheel carries, as verifiers 0.1.14 looks for it.

    That is in the package's own folder, else in the root of site-packages.
    """
    with open_wheel(wheel) as opened:
        for name in (f"{module}/{FILENAME}", FILENAME):
            info = opened.members.get(name)
            if info is not None and info.file_size <= _LARGEST:
                return defaults_in((opened.read(name) or b"").decode("utf-8", errors="replace"))
    return EvalDefaults()


def _eval_table(text: str) -> Mapping[str, Any]:
    try:
        found: Any = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return {}
    for key in ("tool", "verifiers", "eval"):
        found = found.get(key) if isinstance(found, dict) else None
    return found if isinstance(found, dict) else {}


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


NUM_EXAMPLES = 5
ROLLOUTS_PER_EXAMPLE = 3


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
    decided = {
        "num_examples": _first(defaults.num_examples, NUM_EXAMPLES),
        "rollouts_per_example": _first(defaults.rollouts_per_example, ROLLOUTS_PER_EXAMPLE),
    } | plan_fields(request)
    plan = EvalPlan(
        environment=environment,
        model=model,
        endpoint=endpoint,
        sampling=_sampling(request, defaults),
        headers=header_names,
        deadlines=request.deadlines,
        **decided,
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
            "`--allow-net` needs `--sandbox`",
            hint="add `--sandbox`, or omit it",
        )
    if plan.allow_net and plan.only_gateway:
        raise UsageError("`--allow-net` and `--only-gateway` are mutually exclusive")
    if plan.max_cost is not None and not 0 < plan.max_cost < math.inf:
        raise UsageError(f"`--max-cost {plan.max_cost:g}` is not an amount in USD")
    if plan.token_budget is not None and plan.token_budget < 1:
        raise UsageError(f"`--token-budget {plan.token_budget}` is not a number of tokens")
    if not 0 <= plan.max_error_rate <= 1:
        raise UsageError(f"`--max-error-rate {plan.max_error_rate}` is not between 0 and 1")
