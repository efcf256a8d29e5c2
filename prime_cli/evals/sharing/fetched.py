"""An evaluation of a hub as rows and manifest, as if it had been run here."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import msgspec

from prime_cli.core.errors import UsageError
from prime_cli.evals.manifest import Manifest
from prime_cli.evals.official import number_of_examples
from prime_cli.evals.rows import SCHEMA, Row
from prime_cli.evals.sharing.samples import rows_of
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

    Raises UsageError for one of a newer prime.
    """
    found = detail.metadata.get(MANIFEST)
    if not isinstance(found, dict):
        return None
    if found.get("schema", 0) > SCHEMA:
        raise UsageError(
            f"{detail.evaluation_id} was pushed by a newer prime (schema {found['schema']})",
            hint="upgrade prime to read it",
        )
    try:
        return msgspec.convert(found, Manifest)
    except msgspec.ValidationError as error:
        raise UsageError(
            f"The manifest of {detail.evaluation_id} cannot be read: {error}"
        ) from error
