"""Downloads of evaluations, which their pages link to."""

import tempfile
from collections.abc import AsyncGenerator, Mapping
from contextlib import ExitStack, aclosing
from functools import partial
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from prime_cli.core.errors import PrimeError
from prime_cli.hub.context import Hub
from prime_cli.hub.dispatch import call, caller_of, hub_of, run, run_export
from prime_cli.hub.routes.responses import answer_page_error
from prime_cli.hub.routes.router import Router
from prime_cli.hub.services.evaluations.downloads import (
    Parts,
    find_parts,
    read_lines,
    write_evaluation,
)
from prime_cli.runs.export.exports import JSON_LINES, find_download

router = Router()

_BLOCK = 1 << 18


@router.page("/dashboard/evaluations/{id}/download.{form}")
async def download(request: Request) -> Response:
    """All samples of an evaluation: JSON lines as they were pushed, CSV, Parquet or one page."""
    evaluation_id, form = request.path_params["id"], request.path_params["form"]
    hub = hub_of(request)
    try:
        headers = find_download(form).headers(evaluation_id)
        if form == JSON_LINES:
            parts = await call(request, find_parts, evaluation_id)
            return ChunksAnswer(_lines(hub, parts), headers)
        with ExitStack() as stack:
            name = stack.enter_context(tempfile.TemporaryDirectory(prefix="prime-download-"))
            write = partial(write_evaluation, hub, caller_of(request), evaluation_id, form)
            path = await run_export(hub, write, Path(name))
            return ChunksAnswer(_blocks(hub, path), headers, stack.pop_all())
    except PrimeError as error:
        return answer_page_error(request, error)


async def _lines(hub: Hub, parts: Parts) -> AsyncGenerator[bytes]:
    for group in parts.groups:
        yield await run(hub, read_lines, hub, parts.evaluation_id, group)


async def _blocks(hub: Hub, path: Path) -> AsyncGenerator[bytes]:
    with path.open("rb") as file:
        while block := await run(hub, file.read, _BLOCK):
            yield block


class ChunksAnswer(Response):
    """Sends chunks as they are made, then closes what they were made from.

    Starlette's own needs an event loop, which an embedded hub lacks.
    """

    def __init__(
        self,
        chunks: AsyncGenerator[bytes],
        headers: Mapping[str, str],
        source: ExitStack | None = None,
    ) -> None:
        super().__init__(headers=headers)
        del self.headers["content-length"]
        self._chunks = chunks
        self._source = source or ExitStack()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        start = {"status": self.status_code, "headers": self.raw_headers}
        with self._source:
            async with aclosing(self._chunks) as chunks:
                await send({"type": "http.response.start", **start})
                async for chunk in chunks:
                    await send({"type": "http.response.body", "body": chunk, "more_body": True})
                await send({"type": "http.response.body", "body": b""})
