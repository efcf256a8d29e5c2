"""What is said of a run when it is pushed: name, model, metadata with its manifest, metrics."""

import json
from collections.abc import Mapping
from typing import Any

import msgspec

from prime_cli.core.paths import storage_errors
from prime_cli.core.refs import EnvRef
from prime_cli.evals.sharing.fetched import MANIFEST
from prime_cli.runs.saved_run import SavedRun
from prime_cli.runs.scrubber import Scrubber
from prime_cli.runs.summary import Summary
from prime_cli.runs.vf_eval_writer import official_metadata
from prime_cli.wire.environments import EnvironmentDetail
from prime_cli.wire.evaluations import EnvironmentReference, EvaluationRequest

PUSH_KEY = "prime_push"
"""The key in an evaluation's metadata by which a push knows its own evaluation again."""

_AVERAGE = "avg_"


def describe(
    run: SavedRun,
    summary: Summary,
    environment: EnvironmentDetail | None,
    scrub: Scrubber,
    *,
    name: str | None = None,
    run_id: str | None = None,
    is_public: bool = False,
) -> EvaluationRequest:
    """The request that makes the evaluation, in the shape that the official `eval push` gives it.

    `avg_<metric>` of metadata.json are metrics, all its other keys metadata, without secrets.
    The manifest of a run of ours goes along, so that it can be run again from the hub.
    """
    metadata = _metadata(run, summary, environment)
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
        is_public=is_public,
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
    if environment is not None:
        own["env_id"] = f"{environment.owner.name}/{environment.name}"
    return {name: told[name] for name in told if not name.startswith(_AVERAGE)} | own


def _manifest(run: SavedRun, environment: EnvironmentDetail | None) -> dict[str, Any]:
    """run.json as it is, but for where this machine has the environment."""
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
    return {"reward": summary.reward.mean} | means
