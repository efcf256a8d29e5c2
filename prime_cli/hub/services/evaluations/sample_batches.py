"""Batches of samples: each sample counts once, in any order, however often it is sent.

A batch is known again by the digest of its bytes, and a sample that names itself by its name. What
a batch changes is one transaction, so a client whose answer was lost sends it again.
"""

import hashlib
from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import UNSET
from sqlalchemy import Connection, Row, bindparam, exists, insert, select, update

from prime_cli.core.errors import Conflict
from prime_cli.hub.context import Caller, Hub
from prime_cli.hub.db.tables import batches, evaluations, samples
from prime_cli.hub.services.evaluations.queries import NO_RECEIPT, find_writable, lock_evaluation
from prime_cli.hub.services.evaluations.sample_fields import SampleFields, read_batch, text_of
from prime_cli.hub.services.evaluations.standings import update_standing
from prime_cli.hub.services.evaluations.statistics import SampleTotals
from prime_cli.wire.codec import decode, encode
from prime_cli.wire.evaluations import (
    CANCELLED,
    COMPLETED,
    FAILED,
    PENDING,
    RUNNING,
    BatchReceipt,
)

_AT_ONCE = 500
"""Samples per statement; a whole batch as text would double its memory."""

_MINE = samples.c.evaluation_id == bindparam("of")
_REPLACE = (
    update(samples)
    .where(
        _MINE,
        samples.c.identity == bindparam("named"),
        samples.c.attempt <= bindparam("attempt"),
        # Equal samples do not require a new summary.
        samples.c.body != bindparam("body"),
    )
    .values({name: bindparam(name) for name in ("attempt", "reward", "failed", "scores", "size")})
    .values(body=bindparam("body"))
)


def begin_push(hub: Hub, caller: Caller, evaluation_id: str) -> None:
    """Check that samples may be pushed, before accepting any; raises NotFound, NotAllowed."""
    with hub.database.read() as connection:
        find_writable(connection, caller, evaluation_id)


def push_samples(
    hub: Hub, caller: Caller, evaluation_id: str, content: bytes | bytearray
) -> BatchReceipt:
    """Store the samples of a batch, given as its JSON.

    A known batch changes nothing. A sample with a name replaces the one of that name, unless that
    is of a later attempt; others are added, even if equal. Raises UsageError for an invalid batch
    (see `read_batch`), Conflict if the evaluation has failed or was cancelled.
    """
    found = read_batch(content)
    digest = hashlib.sha256(content).hexdigest()
    with hub.database.write(alone=False) as connection:
        evaluation = lock_evaluation(connection, caller, evaluation_id)
        status = evaluation.status
        if not _is_known(connection, evaluation.id, digest):
            _require_open(evaluation)
            status = RUNNING if status == PENDING else status
            connection.execute(
                insert(batches).values(
                    evaluation_id=evaluation.id,
                    sha256=digest,
                    size=len(content),
                    created_at=hub.now(),
                )
            )
            _store(hub, connection, evaluation, found.samples, status)
    return BatchReceipt(
        evaluation_id,
        len(found.samples),
        status,
        replaced=found.replaced or UNSET,
        refused=found.refused or UNSET,
    )


def _is_known(connection: Connection, evaluation_id: str, digest: str) -> bool:
    found = select(
        exists().where(batches.c.evaluation_id == evaluation_id, batches.c.sha256 == digest)
    )
    return bool(connection.execute(found).scalar_one())


def _require_open(evaluation: Row[Any]) -> None:
    if evaluation.status in (FAILED, CANCELLED):
        raise Conflict(
            f"Evaluation `{evaluation.id}` is closed: {evaluation.status}",
            hint="push the samples to a new evaluation",
        )


def _store(
    hub: Hub, connection: Connection, evaluation: Row[Any], batch: list[SampleFields], status: str
) -> None:
    """Add and replace samples, and update the evaluation's own figures."""
    count = evaluation.sample_count
    added = SampleTotals()
    replaced = 0
    for group in _groups(_latest(batch)):
        known = _known_names(connection, evaluation.id, group)
        rows = []
        for sample in group:
            if sample.identity not in known:
                count += 1
                rows.append(_row(evaluation.id, sample) | {"number": count})
                added.add(sample.reward, sample.scores, failed=sample.failed)
        if rows:
            connection.execute(insert(samples), rows)
        changes = [
            _row(evaluation.id, sample) | {"of": evaluation.id, "named": sample.identity}
            for sample in group
            if sample.identity in known
        ]
        replaced += connection.execute(_REPLACE, changes).rowcount if changes else 0
    connection.execute(
        update(evaluations)
        .where(evaluations.c.id == evaluation.id)
        .values(
            status=status,
            sample_count=count,
            updated_at=hub.now(),
            **_figures(evaluation, added, replaced=replaced),
            **NO_RECEIPT,
        )
    )
    if status == COMPLETED:
        update_standing(connection, evaluation.id)


def _figures(evaluation: Row[Any], added: SampleTotals, *, replaced: int) -> dict[str, Any]:
    """The summary plus what was added. Replaced samples cannot be subtracted from it."""
    if replaced or evaluation.summary is None:
        return {"summary": None, "average_reward": None}
    tally = decode(evaluation.summary.encode(), SampleTotals)
    tally.merge(added)
    return {"summary": encode(tally).decode(), "average_reward": tally.mean_reward()}


def _latest(batch: list[SampleFields]) -> list[SampleFields]:
    """Of samples with the same name, the one of the last attempt, else the last."""
    named: dict[str, int] = {}
    kept: list[SampleFields] = []
    for sample in batch:
        place = named.get(sample.identity) if sample.identity is not None else None
        if place is None:
            if sample.identity is not None:
                named[sample.identity] = len(kept)
            kept.append(sample)
        elif sample.attempt >= kept[place].attempt:
            kept[place] = sample
    return kept


def _groups(batch: list[SampleFields]) -> Iterator[Sequence[SampleFields]]:
    for start in range(0, len(batch), _AT_ONCE):
        yield batch[start : start + _AT_ONCE]


def _known_names(
    connection: Connection, evaluation_id: str, group: Sequence[SampleFields]
) -> frozenset[str | None]:
    """The names in `group` that the evaluation already has."""
    names = [sample.identity for sample in group if sample.identity is not None]
    if not names:
        return frozenset()
    rows = connection.execute(
        select(samples.c.identity).where(
            samples.c.evaluation_id == evaluation_id, samples.c.identity.in_(names)
        )
    )
    return frozenset(row.identity for row in rows)


def _row(evaluation_id: str, sample: SampleFields) -> dict[str, Any]:
    body = text_of(sample)
    return {
        "evaluation_id": evaluation_id,
        "identity": sample.identity,
        "attempt": sample.attempt,
        "reward": sample.reward,
        "failed": sample.failed,
        "scores": encode(sample.scores).decode(),
        "size": len(memoryview(sample.body)),
        "body": body,
    }
