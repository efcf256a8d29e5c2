"""The manifest of a run as a hub has it: in the metadata of its evaluation."""

import msgspec

from prime_cli.core.errors import UsageError
from prime_cli.runs.manifest import RunManifest
from prime_cli.runs.rows import SCHEMA
from prime_cli.wire.evaluations import EvaluationDetail

MANIFEST = "prime_run"
"""The key in an evaluation's metadata that holds the run.json."""
RECEIPT = "prime_receipt"
"""The same for the receipt.json."""
JUDGES = "prime_judges"
"""The same for what its owner says of how far its judges can be trusted: sentences."""


def manifest_of(detail: EvaluationDetail) -> RunManifest | None:
    """The manifest that was pushed with an evaluation; None from another client.

    Facts about its machine (addresses of endpoints, names of keys, paths) are removed: a rerun
    would send the user's own key to any address it names. Raises UsageError for one of a newer
    prime.
    """
    found = detail.metadata.get(MANIFEST)
    if not isinstance(found, dict):
        return None
    schema = found.get("schema")
    if isinstance(schema, int) and schema > SCHEMA:
        raise UsageError(
            f"{detail.evaluation_id} was pushed by a newer prime (schema {schema})",
            hint="upgrade prime to read it",
        )
    try:
        return _without_places(msgspec.convert(found, RunManifest))
    except msgspec.ValidationError as error:
        raise UsageError(
            f"The manifest of {detail.evaluation_id} cannot be read: {error}"
        ) from error


def _without_places(manifest: RunManifest) -> RunManifest:
    environment = msgspec.structs.replace(manifest.plan.environment, path=None)
    plan = msgspec.structs.replace(manifest.plan, environment=environment, env_vars=())
    return msgspec.structs.replace(manifest, plan=plan, asked=None)
