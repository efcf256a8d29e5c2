"""An evaluation of a hub as rows and manifest, as if it had been run here."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import msgspec

from prime_cli.core.errors import UsageError
from prime_cli.evals.sharing.samples import rows_of
from prime_cli.runs.manifest import Manifest
from prime_cli.runs.rows import SCHEMA, Row
from prime_cli.runs.vf_eval_reader import number_of_examples
from prime_cli.wire.evaluations import EvaluationDetail

if TYPE_CHECKING:
    from prime_cli.api.client import HubClient

MANIFEST = "prime_run"
"""The key in an evaluation's metadata that holds the run.json of what was pushed."""

_DECODER = msgspec.json.Decoder(dict[str, Any])


def rows_of_evaluation(hub: "HubClient", evaluation_id: str) -> Iterator[Row]:
    """The rows of an evaluation, asked for a page at a time.

    They come in the order in which they were pushed; one row for each rollout. What was pushed by
    prime comes back as it was; what was pushed by others is read as vf-eval's results are. Raises
    NotFound, Unreachable or UsageError.
    """
    detail = hub.evaluations.get(evaluation_id)
    examples = number_of_examples(detail.metadata, lambda: detail.total_samples)
    samples = (_DECODER.decode(each) for each in hub.evaluations.all_samples(evaluation_id))
    return rows_of(samples, examples)


def manifest_of(detail: EvaluationDetail) -> Manifest | None:
    """The manifest that was pushed with an evaluation; None where another client pushed it.

    What it says of the computer that it was made on (addresses of endpoints, names of keys, paths)
    is left out: who makes the run again would send a key of their own wherever it says. Raises
    UsageError for one of a newer prime.
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
        return _without_places(msgspec.convert(found, Manifest))
    except msgspec.ValidationError as error:
        raise UsageError(
            f"The manifest of {detail.evaluation_id} cannot be read: {error}"
        ) from error


def _without_places(manifest: Manifest) -> Manifest:
    environment = msgspec.structs.replace(manifest.plan.environment, path=None)
    plan = msgspec.structs.replace(manifest.plan, environment=environment, env_vars=())
    return msgspec.structs.replace(manifest, plan=plan, asked=None)
