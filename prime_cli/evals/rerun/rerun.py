"""Repeat a run: the same wheel, packages, examples, sampling and number of rollouts."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import msgspec

from prime_cli.core.errors import UsageError
from prime_cli.core.formatting import join_words
from prime_cli.core.progress import Progress
from prime_cli.evals.execution.run import EvalResult, work_through
from prime_cli.evals.execution.session_setup import set_up_run
from prime_cli.evals.execution.setup import RunContext, grant_access
from prime_cli.evals.planning.locate import LookupContext
from prime_cli.evals.planning.prepare import PreparedRun, RunOrigin, prepare_with
from prime_cli.evals.planning.request import EvalRequest
from prime_cli.evals.rerun.packages import find_lock, obtain_same_environment, same_interpreter
from prime_cli.evals.rerun.source import RerunSource
from prime_cli.evals.resume.candidates import request_of_run
from prime_cli.evals.resume.compatibility import require_headers
from prime_cli.runs.manifest import RunManifest
from prime_cli.runs.plan import ALL, EvalPlan
from prime_cli.runs.rows import Row
from prime_cli.wire.locks import Lock

_MOST_CHANGES = 8


@dataclass(frozen=True)
class PreparedRerun:
    """What to run, and with which packages; with `force` on the available ones."""

    source: RerunSource
    prepared: PreparedRun
    lock: Lock | None = None
    force: bool = False


def prepare_rerun(
    source: RerunSource,
    request: EvalRequest,
    lookup: LookupContext,
    environ: Mapping[str, str],
    progress: Progress,
    *,
    force: bool = False,
) -> PreparedRerun:
    """Find everything that the run used; `request` may change model, endpoint, key and pace.

    Raises Conflict if the wheel or the list of its packages is lost, UsageError if a header's value
    is missing, and what `prepare` raises.
    """
    before = source.manifest.plan
    _tell_changes(source, progress)
    prepared = prepare_with(
        lambda: obtain_same_environment(
            source.name, before.environment, lookup, progress, force=force
        ),
        request_of_run(request, source.manifest),
        lookup,
        environ,
        progress,
    )
    if prepared.recording is None:
        require_headers(before, prepared.plan)
    if source.folder is None:
        _require_named(source, request, prepared.plan)
    lock = find_lock(source.manifest, source.folder, prepared.subject, force=force)
    plan = _as_before(prepared.plan, source.manifest)
    return PreparedRerun(source, replace(prepared, plan=plan), lock, force)


def _tell_changes(source: RerunSource, progress: Progress) -> None:
    """Say what somebody changed while the run went on; what was cancelled then is run."""
    if changes := source.manifest.changes:
        told = join_words([f"`{each.words}`" for each in changes], _MOST_CHANGES)
        progress.say(f"{source.name} was changed while it ran, by {told}; all of it is run again")


def _require_named(source: RerunSource, request: EvalRequest, plan: EvalPlan) -> None:
    """Raise UsageError for a run of the hub with an endpoint that the user has not named.

    Its publisher chose that endpoint; the user's key is not sent there unasked.
    """
    was = source.manifest.plan.endpoint
    named = request.base_url or request.provider or request.endpoints_path or request.model
    if plan.endpoint != was and not named:
        raise UsageError(
            f"{source.name} was made at {was}; prime does not send your key there without asking",
            hint=f"pass that endpoint with `-b {was} -k VARIABLE`, or another one",
        )


def _as_before(plan: EvalPlan, manifest: RunManifest) -> EvalPlan:
    """`plan` with the values of `manifest` that no flag sets, not those that the environment now
    declares.
    """
    before = manifest.plan
    environment = plan.environment
    if environment.sha256 == before.environment.sha256:
        environment = before.environment
    examples = plan.num_examples
    if before.num_examples == ALL and manifest.examples is not None and examples == ALL:
        examples = manifest.examples
    return msgspec.structs.replace(
        plan,
        environment=environment,
        num_examples=examples,
        sampling=before.sampling,
        seed=before.seed,
    )


def run_rerun(again: PreparedRerun, context: RunContext) -> EvalResult:
    """Run it as a new run; raises as `run_evaluation`.

    Also raises Conflict if interpreter or examples differ from the run's, which leaves a failed
    run.
    """
    source, before = again.source, again.source.manifest
    origin = RunOrigin(
        rerun_of=source.name,
        examples=min(before.examples or 0, _size(again.prepared.plan, before)),
        fingerprint=_fingerprint(again),
    )
    prepared = replace(again.prepared, origin=origin)
    access = grant_access(prepared, context)
    interpreter = same_interpreter(
        prepared,
        access,
        context,
        before=before.interpreter,
        lock=again.lock,
        force=again.force,
    )
    return work_through(set_up_run(prepared, interpreter, access, context))


def _fingerprint(again: PreparedRerun) -> str | None:
    """The digest of the examples; only usable if all of them are run again."""
    before = again.source.manifest
    whole = (before.examples or 0) <= _size(again.prepared.plan, before)
    return before.fingerprint if whole and not again.force else None


def _size(plan: EvalPlan, before: RunManifest) -> int:
    return (before.examples or 0) if plan.num_examples == ALL else plan.num_examples


# --- Comparing the rewards of both ---

SHOWN = 10
"""The number of differences to list."""


class ChangedReward(msgspec.Struct, frozen=True):
    """One rollout with a changed reward; null is an error."""

    example_id: int
    rollout: int
    before: float | None
    now: float | None


class RewardChanges(msgspec.Struct, frozen=True):
    """A comparison by rollout: `same` and `different` count those in both runs.

    `before` and `now` are the mean rewards over rollouts with a reward in both; `first` lists the
    first differences.
    """

    same: int
    different: int
    only_before: int
    only_now: int
    before: float | None
    now: float | None
    first: list[ChangedReward]


def changed_rewards(before: Iterable[Row], now: Iterable[Row]) -> RewardChanges:
    """Compare two runs; rewards are equal if nine digits are, as sums of floats may be rounded."""
    was = {(row.example_id, row.rollout): row.reward for row in before}
    came = {(row.example_id, row.rollout): row.reward for row in now}
    common = sorted(was.keys() & came.keys())
    changed = [pair for pair in common if not _is_same(was[pair], came[pair])]
    both = ((was[pair], came[pair]) for pair in common)
    scored = [(b, n) for b, n in both if b is not None and n is not None]
    return RewardChanges(
        same=len(common) - len(changed),
        different=len(changed),
        only_before=len(was) - len(common),
        only_now=len(came) - len(common),
        before=_mean([b for b, _ in scored]),
        now=_mean([n for _, n in scored]),
        first=[ChangedReward(*pair, was[pair], came[pair]) for pair in changed[:SHOWN]],
    )


def _mean(rewards: list[float]) -> float | None:
    return math.fsum(rewards) / len(rewards) if rewards else None


def _is_same(one: float | None, other: float | None) -> bool:
    if one is None or other is None:
        return one is other
    return math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-12)
