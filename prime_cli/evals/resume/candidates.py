"""Runs that could go on, found by what is to be run."""

from collections.abc import Iterator
from pathlib import Path

from prime_cli.core.errors import NotFound, UsageError
from prime_cli.evals.resume.compatibility import content_differences, differences
from prime_cli.evals.resume.request import manifest_of
from prime_cli.runs.folder import is_being_written, runs_folder
from prime_cli.runs.manifest import FINISHED, RUNNING, Manifest
from prime_cli.runs.plan import EvalPlan
from prime_cli.runs.saved_run import SavedRun, open_run
from prime_cli.runs.work_list import owed_again


def interrupted_run(plan: EvalPlan, cwd: Path) -> SavedRun | None:
    """The newest run of this very plan that came to no end and has something to lose."""
    for run, manifest in _runs(plan, cwd):
        of_this_plan = _is_of_size(manifest, plan) and _is_same(manifest, plan)
        if manifest.status != FINISHED and of_this_plan:
            return run
    return None


def is_complete(run: SavedRun, plan: EvalPlan, *, retry_errors: bool = False) -> bool:
    """Whether a resume of `run` by `plan`, the same or a larger one, would have nothing to do.

    Errors that a resume keeps as they are leave nothing to do, unless with `retry_errors`.
    """
    before = manifest_of(run)
    counts = before.counts
    if before.status != FINISHED or counts is None:
        return False
    grows = plan.num_examples not in (before.plan.num_examples, before.examples)
    if grows or plan.rollouts_per_example != before.plan.rollouts_per_example:
        return False
    if counts.scored >= counts.planned:
        return True
    tally = run.tally()
    again = owed_again(tally, before.unit, plan.rollouts_per_example, retry_errors=retry_errors)
    return not again and tally.finished >= counts.planned


def newest_run(plan: EvalPlan, cwd: Path, *, retry_errors: bool = False) -> SavedRun | None:
    """The newest run of this plan, else of a smaller one: one with something left before the rest.

    A complete run of the size that is asked for comes before a smaller one that could grow, so that
    the same line again costs nothing. A run of other content of the same environment comes last: to
    be refused, or resumed with the version that it had.
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
    """How many rollouts of how many have a reward."""
    counts = run.summary().counts
    return counts.scored, counts.planned


def _runs(plan: EvalPlan, cwd: Path) -> Iterator[tuple[SavedRun, Manifest]]:
    """Runs of the environment and the model, newest first, that nobody writes to."""
    parent = runs_folder(plan.environment.name, plan.model, cwd)
    found = []
    for path in parent.iterdir() if parent.is_dir() else ():
        try:
            run = open_run(path)
            found.append((run, manifest_of(run)))
        except (NotFound, UsageError):  # another program's folder, or a torn one
            continue
    for run, manifest in sorted(found, key=lambda each: each[1].started, reverse=True):
        if not run.folder.journal.is_file() or not run.folder.journal.stat().st_size:
            continue
        if manifest.status == RUNNING and is_being_written(run.folder):
            continue
        yield run, manifest


def _is_same(manifest: Manifest, plan: EvalPlan) -> bool:
    return not content_differences(manifest.plan, plan) and not differences(manifest, plan)


def _is_of_size(manifest: Manifest, plan: EvalPlan) -> bool:
    before = manifest.plan
    of_examples = plan.num_examples in (before.num_examples, manifest.examples)
    return of_examples and plan.rollouts_per_example == before.rollouts_per_example
