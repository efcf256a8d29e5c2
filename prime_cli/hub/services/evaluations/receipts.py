"""The receipt that came with an evaluation, compared with what the hub has of it."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
from sqlalchemy import Connection, Row, select

from prime_cli.core.errors import UsageError
from prime_cli.core.formatting import pluralize
from prime_cli.core.ssh_signatures import verify
from prime_cli.hub.db.tables import artifacts, evaluated, samples, versions
from prime_cli.hub.services.evaluations.queries import NO_RECEIPT
from prime_cli.runs.pushed_manifest import MANIFEST, RECEIPT
from prime_cli.runs.receipt import (
    Receipt,
    decode_receipt,
    digest_plan,
    digest_receipt,
    digest_scores,
    receipt_statement,
)
from prime_cli.runs.sample_lines import SampleLine
from prime_cli.wire.codec import decode
from prime_cli.wire.locks import Signature


def check_receipt(connection: Connection, row: Row[Any]) -> dict[str, Any]:
    """The columns that say whether the receipt of an evaluation is valid, and by whom or why not.

    `receipt_note` is the signer of a valid one, or what is wrong with another.
    """
    metadata = decode(row.metadata.encode(), dict[str, Any])
    if RECEIPT not in metadata:
        return NO_RECEIPT
    try:
        receipt = decode_receipt(msgspec.json.encode(metadata[RECEIPT]))
    except UsageError as error:
        return {"receipt_valid": False, "receipt_note": error.message}
    problem = next(_problems(connection, row, receipt, metadata.get(MANIFEST)), None)
    if problem is not None:
        return {"receipt_valid": False, "receipt_note": problem}
    signers = [_signer(receipt, each) for each in receipt.signatures]
    if None in signers:
        return {"receipt_valid": False, "receipt_note": "a signature signs something else"}
    return {"receipt_valid": True, "receipt_note": ", ".join(filter(None, signers)) or None}


def _signer(receipt: Receipt, signature: Signature) -> str | None:
    """Whose signature it is; None for one that is not good. Nobody is trusted here: readers do."""
    if signature.kind != "ssh":
        return "an identity of sigstore, which this hub does not check"
    try:
        found = verify(receipt_statement(receipt), signature.body, "nobody", Path(os.devnull))
    except UsageError:
        return "an SSH key that this hub does not check: it has no ssh-keygen"
    return found.key if found is not None else None


def _problems(
    connection: Connection, row: Row[Any], receipt: Receipt, manifest: Any
) -> Iterator[str]:
    if digest_receipt(receipt) != receipt.sha256:
        yield "it was edited"
    if receipt.model != row.model_name:
        yield f"it is of the model {receipt.model[:80]}"
    if (wheel := _wheel(connection, row.id)) not in (None, receipt.wheel_sha256):
        yield f"it is of the wheel {receipt.wheel_sha256[:12]}, and the version's is {wheel[:12]}"
    own = [each for each in receipt.plans if each.run_id == receipt.run_id]
    try:
        if not own or digest_plan(manifest["plan"], own[-1]) != own[-1].sha256:
            yield "its plan is not that of the run"
    except (KeyError, TypeError, AttributeError):
        yield "the run's plan was not pushed"
    there = digest_scores(_scores(connection, row.id))
    if receipt.scores is None or receipt.scores.rollouts != there.rollouts:
        listed = receipt.scores.rollouts if receipt.scores else 0
        yield f"it is of {pluralize(listed, 'rollout')}, and {there.rollouts:,} were pushed"
    elif receipt.scores != there:
        yield "its rewards are not those that were pushed"


def _scores(connection: Connection, evaluation_id: str) -> Iterator[tuple[str, float | None]]:
    for row in connection.execute(
        select(samples.c.number, samples.c.identity, samples.c.reward, samples.c.failed).where(
            samples.c.evaluation_id == evaluation_id
        )
    ):
        line = SampleLine(*row)
        yield ".".join(line.place), line.reward


def _wheel(connection: Connection, evaluation_id: str) -> str | None:
    """The SHA-256 of the wheel of the first version that it evaluates, if that still exists."""
    wanted = (
        select(artifacts.c.sha256)
        .join(versions, versions.c.wheel_id == artifacts.c.id)
        .join(evaluated, evaluated.c.version_id == versions.c.id)
        .where(evaluated.c.evaluation_id == evaluation_id)
        .order_by(evaluated.c.position)
        .limit(1)
    )
    found: str | None = connection.execute(wanted).scalar()
    return found
