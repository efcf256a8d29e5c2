"""From the manifest of a run back to the request that made it."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from prime_cli.core.errors import UsageError
from prime_cli.evals.planning.request import EvalRequest
from prime_cli.runs.manifest import Asked, Manifest
from prime_cli.runs.saved_run import SavedRun


def manifest_of(run: SavedRun) -> Manifest:
    """The manifest of a run that can go on; raises UsageError for one that vf-eval wrote.

    Also for one that scores what another run has saved: it costs little, and is begun anew.
    """
    if run.manifest is None:
        raise UsageError(
            f"{run.folder.path} was not written by prime, which cannot resume it",
            hint="resume it with the command that wrote it",
        )
    if run.manifest.rescored_of is not None:
        raise UsageError(
            f"{run.manifest.run_id} scores what another run has saved, and is not resumed",
            hint=f"begin it anew: `prime eval rescore {run.manifest.rescored_of}`",
        )
    return run.manifest


def recalled(request: EvalRequest, manifest: Manifest) -> EvalRequest:
    """`request` with what it leaves open taken from the run; what it says is yet to be compared."""
    plan, environment = manifest.plan, manifest.plan.environment
    request = _with_endpoint(request, manifest.asked or Asked(model=plan.model))
    return replace(
        request,
        environment=request.environment or environment.ref or environment.path or environment.name,
        num_examples=_first(request.num_examples, plan.num_examples),
        rollouts_per_example=_first(request.rollouts_per_example, plan.rollouts_per_example),
        max_concurrent=_first(request.max_concurrent, plan.concurrency),
        sampling=plan.sampling | _told_sampling(request),
        env_args=plan.env_args if request.env_args is None else request.env_args,
        extra_args=plan.extra_args if request.extra_args is None else request.extra_args,
        env_vars=request.env_vars or plan.env_vars,
        state_columns=request.state_columns or plan.state_columns,
        independent_scoring=request.independent_scoring or plan.independent_scoring,
        max_retries=request.max_retries or plan.max_retries,
        max_error_rate=request.max_error_rate or plan.max_error_rate,
        fail_fast=plan.fail_fast if request.fail_fast is None else request.fail_fast,
        verifiers=request.verifiers or plan.verifiers,
        python=request.python or plan.python,
        sandbox=request.sandbox or plan.sandbox,
        allow_net=request.allow_net or plan.allow_net,
        only_gateway=request.only_gateway or plan.only_gateway,
        max_cost=plan.max_cost if request.max_cost is None else request.max_cost,
        token_budget=plan.token_budget if request.token_budget is None else request.token_budget,
        cache=request.cache or plan.cache,
        deadlines=request.deadlines.over(plan.deadlines),
    )


def _with_endpoint(request: EvalRequest, asked: Asked) -> EvalRequest:
    """The model's flags; a place that is named anew is not mixed with the one before."""
    request = replace(
        request, model=request.model or asked.model, key_var=request.key_var or asked.key_var
    )
    if request.base_url or request.provider or request.endpoints_path:
        return request
    path = asked.endpoints_path
    return replace(
        request,
        base_url=asked.base_url,
        provider=asked.provider,
        endpoints_path=None if path is None else Path(path),
    )


def _told_sampling(request: EvalRequest) -> dict[str, Any]:
    told: dict[str, Any] = {}
    if request.max_tokens is not None:
        told["max_tokens"] = request.max_tokens
    if request.temperature is not None:
        told["temperature"] = request.temperature
    return told | (request.sampling or {})


def _first(given: int | None, before: int) -> int:
    return before if given is None else given
