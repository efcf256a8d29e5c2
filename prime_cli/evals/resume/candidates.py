"""Runs that can be resumed, and the requests that started them."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from prime_cli.core.errors import NotFound, UsageError
from prime_cli.core.refs import add_extras
from prime_cli.evals.planning.request import EvalRequest, completed_by
from prime_cli.evals.resume.compatibility import content_differences, differences
from prime_cli.runs.folder import is_being_written, runs_folder
from prime_cli.runs.manifest import FINISHED, RUNNING, ModelFlags, RunManifest
from prime_cli.runs.plan import EvalPlan, RunEnvironment
from prime_cli.runs.saved_run import SavedRun, open_run
from prime_cli.runs.work_list import owed_again, retried


def resumable_manifest(run: SavedRun) -> RunManifest:
    """The manifest of a resumable run; raises UsageError for a run of vf-eval.

    Also for a rescored run: it costs little and can be repeated.
    """
    if run.manifest is None:
        raise UsageError(
            f"{run.folder.path} was not written by prime and cannot be resumed",
            hint="resume it with the tool that wrote it",
        )
    if run.manifest.rescored_of is not None:
        raise UsageError(
            f"{run.manifest.run_id} is a rescore of another run and cannot be resumed",
            hint=f"start over: `prime eval rescore {run.manifest.rescored_of}`",
        )
    return run.manifest


def request_of_run(request: EvalRequest, manifest: RunManifest) -> EvalRequest:
    """`request` completed with the run's values; those it sets still have to be compared."""
    plan, environment = manifest.plan, manifest.plan.environment
    request = _with_endpoint(request, manifest.asked or ModelFlags(model=plan.model))
    deadlines = request.deadlines.over(plan.deadlines)
    return replace(
        request,
        environment=request.environment or _asked_for(environment),
        sampling=plan.sampling | _told_sampling(request),
        call_timeout=deadlines.call,
        score_timeout=deadlines.scoring,
        rollout_timeout=deadlines.rollout,
        **completed_by(request, plan),
    )


def _asked_for(environment: RunEnvironment) -> str:
    named = environment.ref or environment.path or environment.name
    return add_extras(named, environment.extras or ())


def _with_endpoint(request: EvalRequest, asked: ModelFlags) -> EvalRequest:
    """The model's flags; a new endpoint is not mixed with the previous one."""
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


def interrupted_run(plan: EvalPlan, cwd: Path) -> SavedRun | None:
    """The newest interrupted run of exactly this plan that has results."""
    for run, manifest in _runs(plan, cwd):
        of_this_plan = _is_of_size(manifest, plan) and _is_same(manifest, plan)
        if manifest.status != FINISHED and of_this_plan:
            return run
    return None


def is_complete(run: SavedRun, plan: EvalPlan, *, retry_errors: bool = False) -> bool:
    """Whether a resume of `run` with `plan`, the same or a larger one, would have nothing to do.

    A resume keeps errors, so they count as done unless `retry_errors`.
    """
    before = resumable_manifest(run)
    counts = before.counts
    if before.status != FINISHED or counts is None:
        return False
    grows = plan.num_examples not in (before.plan.num_examples, before.examples)
    if grows or plan.rollouts_per_example != before.plan.rollouts_per_example:
        return False
    if counts.scored >= counts.planned and not before.changes:
        return True
    tally = run.tally()
    if retried(tally, before.changes):
        return False
    again = owed_again(tally, before.unit, plan.rollouts_per_example, retry_errors=retry_errors)
    return not again and tally.finished >= counts.planned


def newest_run(plan: EvalPlan, cwd: Path, *, retry_errors: bool = False) -> SavedRun | None:
    """The newest run of this plan, else of a smaller one; unfinished runs come first.

    A complete run of the requested size comes before a smaller one that could grow, so that
    repeating a command costs nothing. A run with other content of the same environment comes last:
    it is refused, or resumed with its version.
    """
    runs = list(_runs(plan, cwd))
    same = [(run, manifest) for run, manifest in runs if _is_same(manifest, plan)]
    for group in ([each for each in same if _is_of_size(each[1], plan)], same):
        for run, manifest in group:
            if not is_complete(run, manifest.plan, retry_errors=retry_errors):
                return run
        if group:
            return group[0][0]
    other = (
        run
        for run, manifest in runs
        if manifest.status != FINISHED and not differences(manifest, plan)
    )
    return next(other, None)


def scored_of(run: SavedRun) -> tuple[int, int]:
    """The number of scored rollouts, and of all."""
    counts = run.summary().counts
    return counts.scored, counts.planned


def _runs(plan: EvalPlan, cwd: Path) -> Iterator[tuple[SavedRun, RunManifest]]:
    """Runs of the environment and the model that no process writes to, newest first."""
    outputs = plan.option("output_dir")
    parent = runs_folder(plan.environment.name, plan.model, cwd, outputs)
    found = []
    for path in parent.iterdir() if parent.is_dir() else ():
        try:
            run = open_run(path)
            found.append((run, resumable_manifest(run)))
        except (NotFound, UsageError):  # another program's folder, or a torn one
            continue
    for run, manifest in sorted(found, key=lambda each: each[1].started, reverse=True):
        if not run.folder.journal.is_file() or not run.folder.journal.stat().st_size:
            continue
        if manifest.status == RUNNING and is_being_written(run.folder):
            continue
        yield run, manifest


def _is_same(manifest: RunManifest, plan: EvalPlan) -> bool:
    return not content_differences(manifest.plan, plan) and not differences(manifest, plan)


def _is_of_size(manifest: RunManifest, plan: EvalPlan) -> bool:
    before = manifest.plan
    of_examples = plan.num_examples in (before.num_examples, manifest.examples)
    return of_examples and plan.rollouts_per_example == before.rollouts_per_example
