"""Samples of evaluations: upload in batches, read in pages."""

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from prime_cli.hub.dispatch import call, hub_of, run
from prime_cli.hub.routes.requests import read_body
from prime_cli.hub.routes.router import Router
from prime_cli.hub.services.evaluations import sample_batches, sample_queries
from prime_cli.wire.codec import encode
from prime_cli.wire.evaluations import BatchReceipt, SampleBatch, SamplePage, SampleQuery

router = Router(enveloped=False)

_SAMPLES = "/evaluations/{id}/samples"


@router.post(_SAMPLES, "Upload a batch of samples", takes=SampleBatch, needs_key=True)
async def push(request: Request) -> BatchReceipt:
    evaluation_id = request.path_params["id"]
    await call(request, sample_batches.begin_push, evaluation_id)
    content = await read_body(request, hub_of(request).settings.limits.batch_bytes)
    return await call(request, sample_batches.push_samples, evaluation_id, content)


@router.get(_SAMPLES, "List samples", answers=SamplePage)
async def list_(request: Request, query: SampleQuery) -> Response:
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
