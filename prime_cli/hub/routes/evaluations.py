"""Evaluations and their samples: create, upload, finalize, update, read and compare."""

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from prime_cli.hub.dispatch import call, hub_of, run
from prime_cli.hub.routes.requests import read_body, ref_of
from prime_cli.hub.routes.router import Router
from prime_cli.hub.services.evaluations import (
    lifecycle,
    logs,
    queries,
    sample_batches,
    sample_queries,
)
from prime_cli.wire.codec import encode
from prime_cli.wire.evaluations import (
    BatchReceipt,
    BulkDeletion,
    BulkDeletionResult,
    EvaluationChange,
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
    SampleBatch,
    SamplePage,
    SampleQuery,
)

router = Router(enveloped=False, keeps_nulls=True)

_ONE = "/evaluations/{id}"
# Where official clients look for the log of any evaluation.
_LOGS = "/hosted-evaluations/{id}/logs"
_SAMPLES = "/evaluations/{id}/samples"


@router.post("/evaluations", "Create an evaluation", needs_key=True, status=201)
async def create(request: Request, body: EvaluationRequest) -> EvaluationTicket:
    key = request.headers.get("idempotency-key")
    return await call(request, lifecycle.create_evaluation, body, key=key)


@router.get("/evaluations", "List evaluations of the caller and the caller's teams", needs_key=True)
async def list_(request: Request, query: EvaluationQuery) -> EvaluationPage:
    return await call(request, queries.list_evaluations, query)


@router.get(_ONE, "Show an evaluation")
async def get(request: Request) -> EvaluationDetail:
    return await call(request, queries.get_evaluation, request.path_params["id"])


@router.put(_ONE, "Update an evaluation", needs_key=True)
async def change(request: Request, body: EvaluationUpdate) -> EvaluationChange:
    return await call(request, lifecycle.change, request.path_params["id"], body)


@router.delete(_ONE, "Delete an evaluation and its samples", needs_key=True)
async def delete(request: Request) -> EvaluationChange:
    return await call(request, lifecycle.delete_evaluation, request.path_params["id"])


@router.post("/evaluations/bulk-delete", "Delete several evaluations", needs_key=True)
async def delete_several(request: Request, body: BulkDeletion) -> BulkDeletionResult:
    return await call(request, lifecycle.delete_evaluations, body)


@router.post(_ONE + "/finalize", "Complete an evaluation", needs_key=True)
async def finalize(request: Request, body: FinalizeRequest) -> FinalizeResult:
    return await call(request, lifecycle.finalize, request.path_params["id"], body)


@router.get(_LOGS, "Get the logs of an evaluation")
async def get_logs(request: Request) -> EvaluationLogs:
    return await call(request, logs.get_logs, request.path_params["id"])


@router.put(_LOGS, "Store the logs of an evaluation", needs_key=True)
async def put_logs(request: Request, body: EvaluationLogs) -> EvaluationLogs:
    return await call(request, logs.put_logs, request.path_params["id"], body)


@router.get(
    "/environmentshub/{owner}/{name}/evaluations",
    "List finished evaluations of an environment by version and model",
    enveloped=True,
)
async def list_history(request: Request, query: HistoryQuery) -> EvaluationHistory:
    return await call(request, sample_queries.list_history, ref_of(request), query)


@router.post(_SAMPLES, "Upload a batch of samples", takes=SampleBatch, needs_key=True)
async def push_samples(request: Request) -> BatchReceipt:
    evaluation_id = request.path_params["id"]
    await call(request, sample_batches.begin_push, evaluation_id)
    content = await read_body(request, hub_of(request).settings.limits.batch_bytes)
    return await call(request, sample_batches.push_samples, evaluation_id, content)


@router.get(_SAMPLES, "List samples", answers=SamplePage)
async def list_samples(request: Request, query: SampleQuery) -> Response:
    found = await call(request, sample_queries.find_samples, request.path_params["id"], query)
    return SamplesAnswer(found, query)


class SamplesAnswer(Response):
    """A SamplePage, sent part by part: one of large samples would not fit into memory."""

    def __init__(self, found: sample_queries.SampleSlice, query: SampleQuery) -> None:
        self._found = found
        more = query.page * query.limit < found.total
        frame = SamplePage(
            evaluation_id=found.evaluation_id,
            samples=[],
            total=found.total,
            page=query.page,
            limit=query.limit,
            total_pages=-(-found.total // query.limit),
            has_more=more,
            hasMore=more,
        )
        self._head, self._tail = encode(frame).split(b'"samples":[]', 1)
        super().__init__(media_type="application/json")
        del self.headers["content-length"]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        # The first part is read before anything is said, so that a failure can still be told.
        parts = [*self._found.parts]
        first = await self._read(request, parts[:1])
        start = {"status": self.status_code, "headers": self.raw_headers}
        await send({"type": "http.response.start", **start})
        await _send_on(send, self._head + b'"samples":[' + first)
        for part in parts[1:]:
            await _send_on(send, b"," + await self._read(request, [part]))
        await send({"type": "http.response.body", "body": b"]" + self._tail})

    async def _read(self, request: Request, parts: list[tuple[int, ...]]) -> bytes:
        if not parts:
            return b""
        hub = hub_of(request)
        args = hub, self._found.evaluation_id, parts[0]
        return await run(hub, sample_queries.read_bodies, *args)


async def _send_on(send: Send, body: bytes) -> None:
    await send({"type": "http.response.body", "body": body, "more_body": True})
