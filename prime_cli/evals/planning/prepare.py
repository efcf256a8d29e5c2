"""From a request to everything that a run needs; what can fail in no time is asked first."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from prime_cli.core.progress import Progress
from prime_cli.evals.planning.cost import require_prices
from prime_cli.evals.planning.locate import (
    LookupContext,
    ResolvedEnvironment,
    at_version_of,
    locate,
    obtain_environment,
)
from prime_cli.evals.planning.parsers import with_always_allowed
from prime_cli.evals.planning.plan import make_plan
from prime_cli.evals.planning.replay import open_recording, sized_to_recording
from prime_cli.evals.planning.request import EvalRequest, model_flags_of
from prime_cli.models.endpoints import REPLAY, Endpoint, parse_headers, resolve_endpoint
from prime_cli.models.gateway.replay import Recording
from prime_cli.models.preflight import check_endpoint
from prime_cli.models.price_book import PriceBook, load_prices
from prime_cli.models.registry import Registry, load_registry
from prime_cli.runs.folder import RunFolder
from prime_cli.runs.labels import UNLABELLED, Labels, check_labels, revision_of
from prime_cli.runs.manifest import ModelFlags
from prime_cli.runs.plan import EvalPlan, PlannedEnvironment
from prime_cli.runs.retries import AskedAgain
from prime_cli.runs.scrubber import Scrubber
from prime_cli.runs.tally import RolloutKey, Tally

WriteKept = Callable[[RunFolder, Tally, Scrubber], None]
"""Puts into the folder of a new run, and its tally, what it has from the earlier one."""


@dataclass(frozen=True)
class RunOrigin:
    """The run or evaluation that this one makes again, in one of two ways, by its id.

    The first `examples` must have `fingerprint`, unless that is None. `left_out` are rollouts that
    are not made again, `kept` those that `lay_out` takes over as they are. With `is_direct`
    rewards are given to the completions that `lay_out` saved, whose run asked again `asked_again`.
    """

    rerun_of: str | None = None
    rescored_of: str | None = None
    examples: int = 0
    fingerprint: str | None = None
    left_out: frozenset[RolloutKey] = field(default_factory=frozenset)
    kept: frozenset[RolloutKey] = field(default_factory=frozenset)
    lay_out: WriteKept | None = None
    is_direct: bool = False
    asked_again: AskedAgain | None = None


@dataclass(frozen=True)
class PreparedRun:
    """A plan, and at hand what it names.

    `asked` is what named the model. Without `prices` those of today hold. `recording` is what a
    replay answers from, `origin` the run that this one makes again. With `retry_errors` a resume
    asks again for every rollout that ended in an error.
    """

    plan: EvalPlan
    subject: ResolvedEnvironment
    endpoint: Endpoint
    registry: Registry
    asked: ModelFlags | None = None
    prices: PriceBook | None = None
    recording: Recording | None = None
    origin: RunOrigin | None = None
    retry_errors: bool = False
    labels: Labels = UNLABELLED


def prepare(
    request: EvalRequest,
    lookup: LookupContext,
    environ: Mapping[str, str],
    progress: Progress,
    *,
    before: PlannedEnvironment | None = None,
) -> PreparedRun:
    """Decide and fetch; says each choice that was made.

    `before` is what a run that is resumed had: the same version is taken, though a newer one be
    there.

    Raises NotLoggedIn or Unreachable for the model's endpoint, NotFound for an unknown
    environment or model, UsageError for what cannot be meant, and what `obtain_environment` raises.
    """
    # A run that goes on keeps its version, whatever was locked since.
    located = locate(
        request.environment,
        lookup,
        progress,
        hub_only=request.hub_only,
        obey_lock=before is None,
    )
    if before is not None:
        located = at_version_of(located, before)
    return prepare_with(
        lambda: obtain_environment(located, lookup, progress), request, lookup, environ, progress
    )


def prepare_with(
    get_subject: Callable[[], ResolvedEnvironment],
    request: EvalRequest,
    lookup: LookupContext,
    environ: Mapping[str, str],
    progress: Progress,
) -> PreparedRun:
    """The same for an environment that `get_subject` brings, once the endpoint has answered."""
    check_labels(request.tags, request.note)
    registry = load_registry(request.endpoints_path, lookup.cwd, environ)
    prices = load_prices()
    headers = parse_headers(request.headers)
    endpoint = resolve_endpoint(
        request.model,
        request.base_url,
        request.key_var,
        registry,
        environ,
        provider=request.provider,
        headers=headers,
        offline=lookup.offline,
    )
    if endpoint.said:
        progress.say(endpoint.said)
    recording = None
    asked = model_flags_of(request)
    if endpoint.model.startswith(REPLAY):
        recording = open_recording(endpoint.model, lookup.cwd)
        endpoint = replace(endpoint, model=recording.model)
        request = sized_to_recording(recording, request)
    said = asyncio.run(check_endpoint(endpoint))
    for warning in said.warnings:
        progress.warn(warning)
    priced = prices.with_stated(said.prices)
    require_prices(request.max_cost, endpoint, priced)
    subject = get_subject()
    allowed = lookup.env_vars.get(subject.environment.slug, ())
    plan = make_plan(
        replace(request, env_vars=with_always_allowed(request.env_vars, allowed, environ)),
        subject.environment,
        subject.defaults,
        model=endpoint.model,
        endpoint="builtin" if endpoint.builtin else endpoint.shown,
        header_names=tuple(headers),
    )
    labels = Labels(
        tags=request.tags,
        note=request.note,
        revision=revision_of(_code_folder(plan, lookup.cwd)),
    )
    return PreparedRun(
        plan,
        subject,
        endpoint,
        registry,
        asked,
        priced,
        recording,
        retry_errors=request.retry_errors,
        labels=labels,
    )


def _code_folder(plan: EvalPlan, cwd: Path) -> Path:
    """Where the code of the environment is under version control, if it is: else where we are."""
    path = Path(plan.environment.path) if plan.environment.path else cwd
    return path if path.is_dir() else cwd
