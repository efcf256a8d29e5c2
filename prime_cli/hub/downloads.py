"""A blob as an HTTP answer: streamed from its storage, resumable, cacheable for ever."""

from typing import BinaryIO

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from prime_cli.hub.dispatch import call, hub_of
from prime_cli.hub.ranges import Part, Unsatisfiable, parse_range
from prime_cli.hub.services.files import PublishedFile

_BLOCK = 256 * 1024


async def send_file(request: Request, found: PublishedFile) -> Response:
    """The answer to GET or HEAD of a published file."""
    etag = f'"{found.sha256}"'
    if request.headers.get("if-none-match") == etag:
        return Response(status_code=304, headers={"etag": etag})
    file = await call(request, hub_of(request).storage.open, found.sha256)
    size = await call(request, file.seek, 0, 2)
    wanted = request.headers.get("range")
    if request.headers.get("if-range", etag) != etag:
        wanted = None
    try:
        part = parse_range(wanted, size)
    except Unsatisfiable:
        file.close()
        return Response(status_code=416, headers={"content-range": f"bytes */{size}"})
    return FileAnswer(file, found.filename, part, size, etag)


class FileAnswer(Response):
    """Sends a part of `file`, or all of it, block by block, and closes it.

    Starlette's own FileResponse opens files through an event loop, which an embedded hub has not.
    """

    def __init__(
        self, file: BinaryIO, filename: str, part: Part | None, size: int, etag: str
    ) -> None:
        self._file = file
        self._part = part or Part(0, size, size)
        headers = {
            "content-length": str(self._part.length),
            "content-disposition": f'attachment; filename="{filename}"',
            "accept-ranges": "bytes",
            "cache-control": "private, max-age=31536000, immutable",
            "etag": etag,
        }
        if part is not None:
            headers["content-range"] = part.content_range
        super().__init__(
            status_code=206 if part else 200,
            headers=headers,
            media_type="application/octet-stream",
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        with self._file:
            await send(
                {
                    "type": "http.response.start",
                    "status": self.status_code,
                    "headers": self.raw_headers,
                }
            )
            if scope["method"] != "HEAD":
                await self._send_blocks(request, send)
            await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _send_blocks(self, request: Request, send: Send) -> None:
        await call(request, self._file.seek, self._part.start)
        left = self._part.length
        while left and (block := await call(request, self._file.read, min(left, _BLOCK))):
            left -= len(block)
            await send({"type": "http.response.body", "body": block, "more_body": True})
