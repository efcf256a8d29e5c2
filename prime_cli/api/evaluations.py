"""`/evaluations`: creating them, pushing their samples in batches, reading them."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

import msgspec

from prime_cli.api.connection import TRANSFER_SECONDS, Connection
from prime_cli.api.environments import environment_path
from prime_cli.core.errors import NotFound, Unreachable, UsageError
from prime_cli.core.progress import Progress, Silent
from prime_cli.core.refs import EnvRef
from prime_cli.wire.codec import Envelope
from prime_cli.wire.evaluations import (
    EvaluationDetail,
    EvaluationHistory,
    EvaluationLogs,
    EvaluationPage,
    EvaluationQuery,
    EvaluationRequest,
    EvaluationTicket,
    EvaluationUpdate,
    FinalizeRequest,
    FinalizeResult,
    HistoryQuery,
    SamplePage,
    SampleQuery,
)
from prime_cli.wire.queries import write_query

MOST_BYTES = 25 * 1024 * 1024
"""Of one request; what official clients keep to as well."""

_HEAD = b'{"samples":['
_TAIL = b"]}"

MOST_SAMPLE_BYTES = MOST_BYTES - len(_HEAD) - len(_TAIL)
"""Of one sample; larger ones fit into no request."""


@dataclass
class SampleBatches:
    """The bodies of the requests, made as they are asked for, of at most `most` bytes.

    Where samples are small, a batch has at most `enough` bytes, so that less is in memory and less
    is lost with it. A sample is an object, or its JSON as bytes. `skipped` are the places (from 0)
    of those that are too large for any request, and `count` is how many others there were; both
    grow as the bodies are made. Raises UsageError for a sample that JSON cannot hold, as one with
    NaN.
    """

    samples: Iterable[Mapping[str, Any] | bytes]
    most: int = MOST_BYTES
    enough: int = MOST_BYTES
    count: int = 0
    skipped: list[int] = field(default_factory=list)

    def __iter__(self) -> Iterator[tuple[bytes, int]]:
        """Each body with the number of samples in it."""
        frame = len(_HEAD) + len(_TAIL)
        batch: list[bytes] = []
        size = frame
        for place, sample in enumerate(self.samples):
            encoded = sample if isinstance(sample, bytes) else encode_sample(sample, place)
            if frame + len(encoded) > self.most:
                self.skipped.append(place)
                continue
            if batch and size + len(encoded) + 1 > min(self.most, self.enough):
                yield _HEAD + b",".join(batch) + _TAIL, len(batch)
                batch, size = [], frame
            batch.append(encoded)
            size += len(encoded) + 1
            self.count += 1
        if batch:
            yield _HEAD + b",".join(batch) + _TAIL, len(batch)


def encode_sample(sample: Mapping[str, Any], place: int) -> bytes:
    """Compact JSON; raises UsageError, where other encoders would write null for a NaN.

    Text with a lone surrogate, which UTF-8 has no bytes for, is refused too.
    """
    try:
        text = json.dumps(sample, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        return text.encode()
    except (ValueError, TypeError, RecursionError) as error:
        raise UsageError(
            f"Sample {place} cannot be written as JSON: {error}",
            hint="use only text, numbers, lists and objects",
        ) from error


ROOT = "/evaluations"


@dataclass(frozen=True)
class PushReport:
    """What came of a push: samples sent, and the places (from 0) of those too large to send."""

    samples: int
    batches: int
    skipped: list[int] = field(default_factory=list)


class Evaluations:
    """Evaluations on a hub; every method raises NotFound for what is not there.

    `knows_batches` says whether the hub takes a batch that is sent again for the one it has; only
    then are batches sent again whose fate is not known.
    """

    def __init__(self, connection: Connection, knows_batches: Callable[[], bool]) -> None:
        self._connection = connection
        self._knows_batches = knows_batches

    @property
    def knows_batches(self) -> bool:
        """Whether the hub keeps a sample once that is sent twice, and one of two that name it."""
        return self._knows_batches()

    def create(self, request: EvaluationRequest, *, key: str | None = None) -> EvaluationTicket:
        """A new evaluation.

        With a `key`, a name of the caller's for this request, a hub of ours makes one evaluation
        however often it is asked; others take no notice of it.
        """
        answer = self._connection.call(
            "POST",
            f"{ROOT}/",
            # Official clients always send tags.
            body=msgspec.structs.replace(request, tags=request.tags or []),
            headers={"idempotency-key": key} if key else None,
            repeatable=key is not None and self._knows_batches(),
        )
        return answer.read(EvaluationTicket)

    def push(
        self,
        evaluation_id: str,
        samples: Iterable[Mapping[str, Any] | bytes],
        *,
        progress: Progress | None = None,
        total: int | None = None,
        batch_bytes: int = MOST_BYTES,
        accepted: Callable[[int], None] | None = None,
    ) -> PushReport:
        """Send samples, objects or their JSON, in requests of at most 25 MiB.

        Samples smaller than `batch_bytes` go in batches of that size. `total` is how many are
        expected, for the progress; `accepted` is told the number of samples in each batch once
        the hub has it.

        On a hub of ours a push that broke off is finished by the same push: it keeps a batch once,
        and a sample that names itself (`sample_id`, or `example_id` with `rollout_number`) once
        in whichever batch it comes. Samples too large for a request are left out and reported.
        """
        repeatable = self._knows_batches()
        batches = SampleBatches(samples, enough=batch_bytes)
        sent = 0
        with (progress or Silent()).task("Pushing samples", total=total, unit="samples") as task:
            for body, count in batches:
                self._connection.call(
                    "POST",
                    f"{_path(evaluation_id)}/samples",
                    body=body,
                    seconds=TRANSFER_SECONDS,
                    repeatable=repeatable,
                )
                sent += 1
                if accepted is not None:
                    accepted(count)
                task.advance(count)
        return PushReport(batches.count, sent, batches.skipped)

    def finalize(
        self, evaluation_id: str, metrics: Mapping[str, Any] | None = None
    ) -> FinalizeResult:
        """Complete an evaluation, with the client's own metrics."""
        body = FinalizeRequest(metrics=dict(metrics) if metrics is not None else None)
        answer = self._connection.call(
            "POST", f"{_path(evaluation_id)}/finalize", body=body, repeatable=True
        )
        return answer.read(FinalizeResult)

    def list(self, query: EvaluationQuery = EvaluationQuery()) -> EvaluationPage:
        """One page, newest first."""
        answer = self._connection.call("GET", f"{ROOT}/", query=write_query(query))
        body = answer.body
        rows = [_named_id(row) for row in answer.convert(body.get("evaluations", []), _ROWS)]
        total = answer.convert(body.get("total", len(rows)), int)
        return EvaluationPage(
            answer.convert(rows, _ITEMS), total=total, skip=query.skip, limit=query.limit
        )

    def get(self, evaluation_id: str) -> EvaluationDetail:
        """Everything about one evaluation but its samples; nulls in its metadata are left out."""
        with _known_by_the_list():
            answer = self._connection.call("GET", _path(evaluation_id))
        return answer.convert(_named_id(answer.read(dict)), EvaluationDetail)

    def samples(self, evaluation_id: str, query: SampleQuery = SampleQuery()) -> SamplePage:
        """One page of samples."""
        with _known_by_the_list():
            answer = self._connection.call(
                "GET",
                f"{_path(evaluation_id)}/samples",
                query=write_query(query),
                seconds=TRANSFER_SECONDS,
            )
        found = answer.read_exactly(SamplePage)
        # The public hub names the total alone.
        found.has_more = found.has_more or found.hasMore or found.page * found.limit < found.total
        return found

    def all_samples(self, evaluation_id: str, *, limit: int = 100) -> Iterator[bytes]:
        """The JSON of every sample in its order, asked for `limit` at a time."""
        page = 1
        while True:
            found = self.samples(evaluation_id, SampleQuery(page=page, limit=limit))
            yield from (bytes(sample) for sample in found.samples)
            if not found.has_more:
                return
            if not found.samples:
                raise Unreachable(f"Page {page} of the samples of {evaluation_id} is empty")
            page += 1

    def update(self, evaluation_id: str, change: EvaluationUpdate) -> None:
        """Change what `change` names; raises Conflict for a status after the end."""
        self._connection.call("PUT", _path(evaluation_id), body=change)

    def delete(self, evaluation_id: str) -> None:
        """Delete an evaluation with its samples."""
        with _known_by_the_list():
            self._connection.call("DELETE", _path(evaluation_id))

    def logs(self, evaluation_id: str) -> str:
        """What the run printed; empty where the hub has nothing of it."""
        with _known_by_the_list():
            answer = self._connection.call("GET", _logs_path(evaluation_id))
        return answer.convert(answer.body.get("logs") or "", str)

    def put_logs(self, evaluation_id: str, text: str) -> None:
        """Keep what the run printed, at most 1 MiB; hubs of ours alone (`LOGS_FEATURE`)."""
        self._connection.call("PUT", _logs_path(evaluation_id), body=EvaluationLogs(text))

    def history(self, ref: EnvRef, query: HistoryQuery = HistoryQuery()) -> EvaluationHistory:
        """Finished evaluations of an environment, by version and model; ours alone."""
        path = f"{environment_path(ref)}/evaluations"
        answer = self._connection.call("GET", path, query=write_query(query))
        return answer.read_exactly(Envelope[EvaluationHistory]).data


# Within the class, `list` is a method.
_ROWS = list[dict[str, Any]]
_ITEMS = list[EvaluationDetail]


@contextmanager
def _known_by_the_list() -> Iterator[None]:
    """Say where ids come from when there is no such evaluation: hubs do not."""
    try:
        yield
    except NotFound as error:
        error.hint = error.hint or "list them with `prime eval list --hub`"
        raise


def _path(evaluation_id: str) -> str:
    return f"{ROOT}/{quote(evaluation_id, safe='')}"


def _logs_path(evaluation_id: str) -> str:
    return f"/hosted-evaluations/{quote(evaluation_id, safe='')}/logs"


def _named_id(row: dict[str, Any]) -> dict[str, Any]:
    """Some hubs call the id of an evaluation `id`, as the official client knows."""
    return {"evaluation_id": row.get("id"), **row}
