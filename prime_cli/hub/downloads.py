"""Published files as HTTP responses, and the count of those that were sent.

A response is resumable and immutable, and takes the shortest path: the bytes go from the object
store directly to the client (a redirect), from the disk to the socket in the server's own code (the
ASGI extension `http.response.pathsend`), or through here in blocks.
"""

import asyncio
import base64
import logging
import os
import re
import threading
from collections import Counter
from datetime import timedelta
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import BinaryIO, NamedTuple

from msgspec import Struct
from sqlalchemy import or_, select, update
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from prime_cli.core.errors import NotFound, PrimeError
from prime_cli.core.refs import normalize_name
from prime_cli.hub.context import Hub
from prime_cli.hub.db.tables import artifacts, environments, owners, versions
from prime_cli.hub.dispatch import hub_of, run
from prime_cli.hub.headers import ByteRange, Unsatisfiable, attachment, parse_range
from prime_cli.hub.services.environments import PublishedFile
from prime_cli.hub.storage import Storage

# Each costs a hop to a thread and back, some 0.1 ms.
_BLOCK = 1024 * 1024
# Only for the start; a running download is not cut off.
_LINK_SECONDS = 900
_PATHSEND = "http.response.pathsend"
_MEDIA_TYPES = {".whl": "application/zip", ".gz": "application/gzip"}
_FILE = re.compile(r"/files/([^/]+)/([^/]+)/([0-9a-f]{64})/(?!.*\.metadata$)[^/]+")
_BEGINS = re.compile(rb"bytes 0-")
_FLUSH_EVERY = timedelta(seconds=1)
_log = logging.getLogger(__name__)


async def send_file(request: Request, found: PublishedFile) -> Response:
    """The answer to GET or HEAD of a published file.

    Raises NotFound when its bytes were lost, StorageFailed and Unreachable.
    """
    headers = _headers_of(found)
    etag = headers["etag"]
    if _is_known(request.headers.get("if-none-match"), etag):
        kept = ("etag", "cache-control")
        return Response(status_code=304, headers={name: headers[name] for name in kept})
    storage = hub_of(request).storage
    if request.method == "HEAD":
        size = await run(hub_of(request), _existing_size, storage, found.sha256)
        return Response(headers=headers | {"content-length": str(size)})
    if hub_of(request).settings.downloads == "redirect":
        link = partial(storage.link, found.sha256, found.filename, _LINK_SECONDS)
        if (url := await run(hub_of(request), link)) is not None:
            return Response(status_code=307, headers={"location": url, "cache-control": "no-store"})
    # RFC 9110, 13.1.5: if the client has part of a different file, it gets all of this one.
    same = request.headers.get("if-range", etag) == etag
    wanted = request.headers.get("range") if same else None
    path = storage.local_path(found.sha256)
    if wanted is None and path is not None and _PATHSEND in request.scope.get("extensions", {}):
        size = await run(hub_of(request), _existing_size, storage, found.sha256)
        return PathAnswer(path, headers | {"content-length": str(size)})
    try:
        opened = await run(hub_of(request), _open_part, storage, found.sha256, wanted)
    except Unsatisfiable as error:
        return Response(status_code=416, headers={"content-range": f"bytes */{error.size}"})
    return BlockAnswer(opened, headers)


class PathAnswer(Response):
    """Leaves sending the file at `path` to the server."""

    def __init__(self, path: Path, headers: dict[str, str]) -> None:
        super().__init__(headers=headers)
        self._path = path

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send(_start(self))
        await send({"type": _PATHSEND, "path": str(self._path)})


class BlockAnswer(Response):
    """Sends an open blob block by block, and closes it.

    Starlette's own FileResponse opens files through an event loop, which an embedded hub lacks.
    """

    def __init__(self, opened: "_Opened", headers: dict[str, str]) -> None:
        part = opened.part
        headers = headers | {"content-length": str(part.length)}
        if opened.partial:
            headers["content-range"] = part.content_range
        super().__init__(status_code=206 if opened.partial else 200, headers=headers)
        self._opened = opened

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        file, block = self._opened.file, self._opened.first
        left = self._opened.part.length - len(block)
        with file:
            await send(_start(self))
            while left and block:
                await send({"type": "http.response.body", "body": block, "more_body": True})
                if await _is_gone(request):
                    return
                block = await run(hub_of(request), file.read, min(left, _BLOCK))
                left -= len(block)
            await send({"type": "http.response.body", "body": block, "more_body": False})


class _Opened(Struct, frozen=True):
    """A blob opened past the `first` bytes of the requested part."""

    file: BinaryIO
    part: ByteRange
    partial: bool
    first: bytes


def _open_part(storage: Storage, digest: str, wanted: str | None) -> _Opened:
    """Includes the first block, in the same hop: its failure can still be answered."""
    file = storage.open(digest)
    try:
        size = file.seek(0, os.SEEK_END)
        part = parse_range(wanted, size)
        whole = part or ByteRange(0, size, size)
        file.seek(whole.start)
        first = file.read(min(whole.length, _BLOCK))
    except BaseException:
        file.close()
        raise
    return _Opened(file, whole, part is not None, first)


def _existing_size(storage: Storage, digest: str) -> int:
    size = storage.size(digest)
    if size is None:
        raise NotFound(f"The hub has no blob with SHA-256 {digest}")
    return size


def _headers_of(found: PublishedFile) -> dict[str, str]:
    """The headers of every answer with the file; the digest as in RFC 9530."""
    digest = base64.b64encode(bytes.fromhex(found.sha256)).decode()
    suffix = Path(found.filename).suffix
    return {
        "content-type": _MEDIA_TYPES.get(suffix, "application/octet-stream"),
        "content-disposition": attachment(found.filename),
        "accept-ranges": "bytes",
        "cache-control": "private, max-age=31536000, immutable",
        "etag": f'"{found.sha256}"',
        "repr-digest": f"sha-256=:{digest}:",
    }


def _is_known(if_none_match: str | None, etag: str) -> bool:
    """Whether the client already has it: a list of tags, compared weakly (RFC 9110, 13.1.2)."""
    if if_none_match is None:
        return False
    tags = {tag.strip().removeprefix("W/") for tag in if_none_match.split(",")}
    return not tags.isdisjoint({etag, "*"})


def _start(answer: Response) -> dict[str, object]:
    return {
        "type": "http.response.start",
        "status": answer.status_code,
        "headers": answer.raw_headers,
    }


async def _is_gone(request: Request) -> bool:
    """Whether the client has gone; in one process, that cannot be queried."""
    return not hub_of(request).settings.embedded and await request.is_disconnected()


class SentFile(NamedTuple):
    """A file that was sent: of whom, and which."""

    owner: str
    name: str
    sha256: str


class DownloadCounts:
    """The downloads that this process has counted, and has yet to add to the tables.

    They are added once a second at most, by a request, and at the end: a hub that is killed loses
    those of its last second. An embedded hub adds each at once.
    """

    def __init__(self, hub: Hub) -> None:
        self.hub = hub
        self._counts: Counter[SentFile] = Counter()
        self._guard = threading.Lock()
        self._next = hub.settings.clock()

    def add(self, download: SentFile) -> None:
        """Count one download."""
        with self._guard:
            self._counts[download] += 1

    @property
    def is_due(self) -> bool:
        """Whether there is something to add, and it is time."""
        return bool(self._counts) and (
            self.hub.settings.embedded or self.hub.settings.clock() >= self._next
        )

    def flush(self) -> None:
        """Add all that was counted to the tables; what is gone meanwhile is left out.

        A failure is not that of whoever downloaded: it is logged, and the counts are kept.
        """
        with self._guard:
            counts, self._counts = self._counts, Counter()
            self._next = self.hub.settings.clock() + _FLUSH_EVERY
        if not counts:
            return
        try:
            self._write(counts)
        except PrimeError as error:
            _log.warning("Downloads cannot be counted now: %s", error)
            with self._guard:
                self._counts.update(counts)

    def _write(self, counts: Counter[SentFile]) -> None:
        with self.hub.database.write() as connection:
            for each, number in sorted(counts.items()):
                environment_id = connection.execute(
                    select(environments.c.id)
                    .join(owners, environments.c.owner_id == owners.c.id)
                    .where(
                        owners.c.slug == each.owner,
                        environments.c.normalized_name == normalize_name(each.name),
                    )
                ).scalar()
                files = select(artifacts.c.id).where(
                    artifacts.c.environment_id == environment_id,
                    artifacts.c.sha256 == each.sha256,
                )
                counted = connection.execute(
                    update(versions)
                    .where(or_(versions.c.id.in_(files), versions.c.wheel_id.in_(files)))
                    .values(downloads=versions.c.downloads + number)
                )
                if counted.rowcount:
                    connection.execute(
                        update(environments)
                        .where(environments.c.id == environment_id)
                        .values(downloads=environments.c.downloads + number)
                    )


class DownloadCountMiddleware:
    """Counts answers that send a file, or the beginning of one, or where an object store has it.

    A HEAD, a file that the client has, and the rest of an interrupted download do not count.
    """

    def __init__(self, app: ASGIApp, counts: DownloadCounts) -> None:
        self.app = app
        self._counts = counts
        self._flushing: asyncio.Task[None] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        found = None
        if scope["type"] == "http" and scope["method"] == "GET":
            found = _FILE.fullmatch(scope["path"])
        if found is None:
            await self.app(scope, receive, send)
        else:
            await self._count(scope, receive, send, SentFile(*found.groups()))
        if not self._counts.is_due:
            return
        if self._counts.hub.settings.embedded:
            self._counts.flush()
        elif self._flushing is None or self._flushing.done():
            # Beside the request, whose answer has been sent.
            self._flushing = asyncio.create_task(run(self._counts.hub, self._counts.flush))

    async def _count(self, scope: Scope, receive: Receive, send: Send, download: SentFile) -> None:
        async def observe(message: Message) -> None:
            if message["type"] == "http.response.start" and _sends(message):
                self._counts.add(download)
            await send(message)

        await self.app(scope, receive, observe)


def _sends(start: Message) -> bool:
    """Whether an answer sends a file from its beginning, or says where it is."""
    status = start["status"]
    if status == HTTPStatus.PARTIAL_CONTENT:
        headers = dict(start["headers"])
        return _BEGINS.match(headers.get(b"content-range", b"")) is not None
    return status in (HTTPStatus.OK, HTTPStatus.TEMPORARY_REDIRECT)
