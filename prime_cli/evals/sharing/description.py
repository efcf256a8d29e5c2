"""The description of a run for a push: name, environment, model, metadata, metrics."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from prime_cli.client.accounts.teams import list_teams
from prime_cli.core.config import STARTER_OWNER
from prime_cli.core.errors import BadReference, NotFound, UsageError
from prime_cli.core.paths import storage_errors
from prime_cli.core.progress import Progress
from prime_cli.core.refs import EnvRef, is_reference
from prime_cli.runs.manifest import RunManifest
from prime_cli.runs.plan import RunEnvironment
from prime_cli.runs.pushed_manifest import JUDGES, MANIFEST, RECEIPT
from prime_cli.runs.receipt import read_receipt
from prime_cli.runs.saved_run import SavedRun
from prime_cli.runs.scrubber import Scrubber
from prime_cli.runs.summary import EnvironmentFacts, Summary
from prime_cli.runs.vf_eval_writer import official_metadata
from prime_cli.wire.environments import EnvironmentDetail
from prime_cli.wire.evaluations import EnvironmentReference, EvaluationRequest

if TYPE_CHECKING:
    from prime_cli.client.api.client import HubClient


PUSH_KEY = "prime_push"
"""The key in an evaluation's metadata by which a push recognizes its own evaluation."""

_AVERAGE = "avg_"


def describe(
    run: SavedRun,
    summary: Summary,
    environment: EnvironmentDetail | None,
    scrub: Scrubber,
    *,
    name: str | None = None,
    run_id: str | None = None,
    trust: Sequence[str] = (),
) -> EvaluationRequest:
    """The request that creates the evaluation, in the shape of the official `eval push`; private.

    `avg_<metric>` of metadata.json are metrics, all its other keys metadata, without secrets. It
    includes the manifest of a run of ours, so that it can be rerun from the hub, and `trust`.
    """
    metadata = _metadata(run, summary, environment)
    if trust:
        metadata[JUDGES] = list(trust)
    slug = metadata.get("env_id") or metadata.get("env") or summary.environment.ref
    reference = None
    if environment is not None:
        reference = [EnvironmentReference(environment.id, environment.version_id)]
    request = EvaluationRequest(
        name=name or f"{slug}-{summary.model}",
        environments=reference,
        run_id=run_id,
        model_name=summary.model,
        framework=str(metadata.get("framework") or "verifiers"),
        task_type=metadata.get("task_type"),
        description=summary.labels.note,
        tags=list(summary.labels.tags) or None,
        metadata=metadata,
        metrics=_metrics(summary),
        is_public=False,
    )
    # Through JSON once: NaN becomes null, and no secret is left in any of it.
    return msgspec.json.decode(scrub(msgspec.json.encode(request)), type=EvaluationRequest)


def _metadata(
    run: SavedRun, summary: Summary, environment: EnvironmentDetail | None
) -> dict[str, Any]:
    told: Mapping[str, Any] = run.official or {}
    own: dict[str, Any] = {}
    if run.manifest is not None:
        told = official_metadata(run.manifest.plan, summary)
        own = {MANIFEST: _manifest(run, environment)}
        if run.folder.receipt.is_file():
            own[RECEIPT] = msgspec.to_builtins(read_receipt(run.folder.receipt)[0])
    if environment is not None:
        own["env_id"] = f"{environment.owner.name}/{environment.name}"
    return {name: told[name] for name in told if not name.startswith(_AVERAGE)} | own


def _manifest(run: SavedRun, environment: EnvironmentDetail | None) -> dict[str, Any]:
    """run.json without the local path of the environment."""
    with storage_errors(run.folder.manifest):
        manifest: dict[str, Any] = json.loads(run.folder.manifest.read_bytes())
    planned = manifest["plan"]["environment"]
    planned["path"] = None
    if environment is not None and environment.wheel_sha256 == planned["sha256"]:
        # From now on it can be had from the hub, also by those who do not have the folder.
        ref = EnvRef(environment.owner.name, environment.name, environment.semantic_version)
        planned["ref"] = str(ref)
    return manifest


def _metrics(summary: Summary) -> dict[str, Any]:
    means = {name: metric.mean for name, metric in summary.metrics.items()}
    # The reward's own name last: a metric may be called so.
    return means | {"reward": summary.reward.mean}


def find_published(
    hub: "HubClient",
    manifest: RunManifest | None,
    facts: EnvironmentFacts,
    *,
    named: EnvRef | None,
    progress: Progress,
    team: str | None = None,
) -> EnvironmentDetail:
    """The evaluated environment on `hub`; `named` is the user's choice.

    `manifest` is that of a run of ours. An environment in a folder is searched under `team` (a
    slug), the caller's own name and all teams of the caller, and must have the same wheel. Raises
    NotFound with the command that publishes it.
    """
    own = manifest.plan.environment if manifest is not None else None
    if named is not None:
        found = _get(hub, named)
        if own is not None and not _is_same(own, found):
            progress.warn(f"{_title(found)} on the hub is not the wheel that was evaluated")
        return found
    if own is None:
        return _of_official(hub, facts, progress)
    if own.ref is not None:
        return _get(hub, EnvRef.parse(own.ref))
    return _of_local(hub, own, progress, team)


def _of_official(
    hub: "HubClient", facts: EnvironmentFacts, progress: Progress
) -> EnvironmentDetail:
    """The environment in a folder of vf-eval, which names at most a version of its package."""
    slug = facts.ref.partition("@")[0]
    if not is_reference(slug):
        raise UsageError(
            f"The run does not record which hub environment `{slug}` is",
            hint="pass it with `--env owner/name`",
        )
    ref = EnvRef.parse(slug)
    if facts.version:
        try:
            return hub.environments.get(ref.at(facts.version))
        except (NotFound, BadReference):
            progress.say(
                f"{slug} {facts.version} is not on the hub, so the push refers to the newest one"
            )
    return _get(hub, ref)


def _of_local(
    hub: "HubClient", own: RunEnvironment, progress: Progress, team: str | None
) -> EnvironmentDetail:
    mine = hub.accounts.whoami().slug or ""
    others: dict[str, EnvRef] = {}
    for owner in _owners(hub, team, mine):
        ref = EnvRef(owner, own.name, own.version)
        try:
            found = hub.environments.get(ref)
        except NotFound:
            continue
        if _is_same(own, found):
            progress.say(f"What was evaluated is {ref} on {hub.host}")
            return found
        others[owner] = ref
    # What a team has is the team's: a copy of it under another name helps nobody.
    owner = next(iter(others), team or mine)
    option = "" if owner == mine else f" --team {owner}"
    command = f"publish it with `prime env upload {own.path or '.'}{option}`, then push again"
    if others:
        raise NotFound(
            f"{others[owner]} on {hub.host} has different content than what was evaluated",
            hint=f"{command}, or accept it with `--env {others[owner]}`",
        )
    wanted = EnvRef(owner, own.name, own.version)
    raise NotFound(f"{hub.host} has no environment {wanted}", hint=command)


def _owners(hub: "HubClient", team: str | None, mine: str) -> Iterator[str]:
    """Under whose names to look: the team that is worked for, the user, the user's other teams."""
    yield from (each for each in (team, mine) if each)
    yield from (each.slug for each in list_teams(hub) if each.slug not in (team, mine))


def _get(hub: "HubClient", ref: EnvRef) -> EnvironmentDetail:
    try:
        return hub.environments.get(ref)
    except NotFound as missing:
        if ref.owner == STARTER_OWNER and not hub.in_process:
            hint = "starters are only on the built-in hub: add `--context local`"
        else:
            hint = (
                "publish it with `prime env upload`, or choose another one with `--env owner/name`"
            )
        raise NotFound(f"{hub.host} has no environment {ref}", hint=hint) from missing


def _is_same(own: RunEnvironment, found: EnvironmentDetail) -> bool:
    """Whether both are the same wheel; without a digest from the hub it is assumed."""
    return found.wheel_sha256 in (None, own.sha256)


def _title(found: EnvironmentDetail) -> str:
    return str(EnvRef(found.owner.name, found.name, found.semantic_version))
