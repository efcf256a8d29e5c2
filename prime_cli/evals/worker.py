"""What the worker is told: its spec, and the environment variables that it may see."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Literal, cast

from prime_cli.core.errors import UsageError
from prime_cli.core.progress import Progress
from prime_cli.evals.plan import EvalPlan
from prime_cli.evals.resuming.orders import Orders
from prime_cli.models.gateway.builtin import ORACLE
from prime_cli.models.gateway.probes import PROBES
from prime_cli.runtime.interpreters import Interpreter
from prime_cli.runtime.protocol import Spec
from prime_cli.runtime.sandbox import GATEWAY
from prime_cli.runtime.variables import process_variables

GATEWAY_KEYS = frozenset({"OPENAI_API_KEY", "OPENAI_BASE_URL", "PRIME_API_KEY"})
"""The worker has the gateway's own values under these names, or nothing."""


def make_spec(
    plan: EvalPlan,
    interpreter: Interpreter,
    base_url: str,
    token: str,
    orders: Orders | None = None,
) -> Spec:
    """The first line that the worker reads; without `orders` all of the plan is run."""
    orders = orders or Orders(plan.concurrency)
    return Spec(
        module=interpreter.module,
        env_id=plan.environment.name,
        model=plan.model,
        base_url=base_url,
        token=token,
        generation=cast(Literal["v0", "v1"], interpreter.generation),
        args=plan.env_args,
        extra=plan.extra_args,
        sampling=plan.sampling,
        n=plan.num_examples,
        r=plan.rollouts_per_example,
        concurrency=orders.concurrency,
        done=orders.done,
        attempts={f"{e}.{r}": number for (e, r), number in orders.attempts.items()},
        prefix=orders.prefix,
        fingerprint=orders.fingerprint,
        seed=plan.seed,
        socket=str(GATEWAY) if plan.sandbox else None,
        state_columns=list(plan.state_columns),
        max_retries=plan.max_retries,
        call_retries=0,  # the gateway has retried before it answers with a failure
        timeout_s=plan.deadlines.rollout_seconds,
        score_s=plan.deadlines.scoring_seconds,
        blocked_s=plan.deadlines.blocked_seconds,
        independent_scoring=plan.independent_scoring,
        answers=plan.model in (ORACLE, PROBES),  # of 100,000 examples they are megabytes
    )


def passed_keys(
    plan: EvalPlan, declared: Iterable[str], environ: Mapping[str, str], progress: Progress
) -> dict[str, str]:
    """What the environment may read: the keys it declares and `--env-var` names, each said aloud.

    Raises UsageError for a variable that was named and is not set; a declared one may be unset.
    """
    passed: dict[str, str] = {}
    for name in plan.env_vars:
        if name in GATEWAY_KEYS:
            progress.say(f"{name} stays here: the gateway stands in for it")
        elif name not in environ:
            raise UsageError(
                f"`--env-var {name}` names a variable that is not set", hint=f"`export {name}=…`"
            )
        else:
            progress.say(f"The environment can read {name}")
            passed[name] = environ[name]
    for name in declared:
        if name not in environ or name in GATEWAY_KEYS or name in passed:
            continue
        if plan.sandbox:
            progress.warn(
                f"The environment asks for {name}, which stays outside of the sandbox",
                hint=f"let it read the key with `--env-var {name}`",
            )
            continue
        progress.say(f"The environment asks for {name} and can read it")
        passed[name] = environ[name]
    return passed


def worker_variables(
    environ: Mapping[str, str],
    passed: Mapping[str, str],
    *,
    base_url: str,
    token: str,
    python: Path,
) -> dict[str, str]:
    """All that the worker's process gets; judges with a default client reach the gateway too."""
    own = {
        "OPENAI_BASE_URL": base_url,
        "OPENAI_API_KEY": token,
        "VIRTUAL_ENV": str(python.parent.parent),
    }
    return process_variables(environ, {**passed, **own})
