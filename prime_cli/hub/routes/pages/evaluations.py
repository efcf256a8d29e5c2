"""What pages of evaluations link to: downloads, events until one is finished, and comparisons."""

import tempfile
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import ExitStack, aclosing, contextmanager
from functools import partial
from pathlib import Path

import anyio
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from prime_cli.core.errors import PrimeError, UsageError
from prime_cli.hub.context import Hub
from prime_cli.hub.dispatch import call, caller_of, hub_of, run, run_export
from prime_cli.hub.routes.responses import answer_page_error, show_page
from prime_cli.hub.routes.router import Router
from prime_cli.hub.services.evaluations import comparisons, queries
from prime_cli.hub.services.evaluations.sample_pages import (
    Parts,
    find_parts,
    read_lines,
    write_evaluation,
)
from prime_cli.pages.comparison import MOST
from prime_cli.pages.evaluation_comparison import (
    CHOOSE,
    beside_page,
    choice_page,
    comparison_page,
    is_comparable,
)
from prime_cli.pages.events import ASK_LATER, EVENT_HEADERS, FIRST_EVENT, event, known_count
from prime_cli.pages.links import COMPARISON, page_number
from prime_cli.pages.paging import find_cursor, parse_cursor
from prime_cli.runs.export.exports import JSON_LINES, find_download
from prime_cli.runs.transcript import parse_position
from prime_cli.wire.evaluations import CLOSED, EvaluationDetail

router = Router()

_BLOCK = 1 << 18
_LOOK_SECONDS = 2.0
_LOOKS = 3
"""Of one answer, after which a browser asks again: a hub that stops waits for its answers."""
_MOST = 200
"""Pages that one process watches for."""


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


@router.page("/dashboard/evaluations/{id}/events")
async def events(request: Request) -> Response:
    """Server-sent events: `grown` when there are other than `known` samples, `ended` at the end."""
    try:
        found = await call(request, queries.get_evaluation, request.path_params["id"])
    except PrimeError as error:
        return answer_page_error(request, error)
    if _watched.pages >= _MOST:
        return Response(ASK_LATER, headers=EVENT_HEADERS)
    with ExitStack() as stack:
        stack.enter_context(_watched.one())
        watched = _watch(request, found, known_count(request.headers, request.query_params))
        return ChunksAnswer(watched, EVENT_HEADERS, stack.pop_all())


async def _watch(
    request: Request, found: EvaluationDetail, known: int | None
) -> AsyncGenerator[bytes]:
    yield FIRST_EVENT
    for look in range(_LOOKS):
        if look:
            await anyio.sleep(_LOOK_SECONDS)
            try:
                found = await call(request, queries.get_evaluation, found.evaluation_id)
            except PrimeError:  # deleted, or hidden from this caller since
                return
        if found.total_samples != known:
            known = found.total_samples
            yield event("grown", at=known, lines=known)
        if found.status in CLOSED:
            yield event("ended", status=found.status)
            return


class _Watched:
    """How many pages this process watches for."""

    def __init__(self) -> None:
        self.pages = 0

    @contextmanager
    def one(self) -> Iterator[None]:
        self.pages += 1
        try:
            yield
        finally:
            self.pages -= 1


_watched = _Watched()


@router.page(COMPARISON)
async def comparison(request: Request) -> Response:
    """Two to four evaluations, whose ids are in the query; of one, what to compare it with."""
    ids = _ids(request)
    if not ids or len(ids) > MOST:
        return await show_page(request, choice_page, problem=CHOOSE if ids else "")
    given, hub = request.query_params, hub_of(request)
    force, page = given.get("force") == "1", page_number(given)
    try:
        # What the caller may not see ends here, whether or not somebody else compared it before.
        found = await call(request, comparisons.get_evaluations, ids)
        if not is_comparable(len(found)):
            rows = await call(request, comparisons.list_others, found[0])
            return await show_page(request, choice_page, found, rows, "", parse_cursor(given))
        compare = comparisons.compare_evaluations
        compared = await run_export(hub, compare, hub, found, force=force)
    except PrimeError as error:
        return answer_page_error(request, error)
    return await show_page(request, comparison_page, found, compared, page=page, force=force)


@router.page(COMPARISON + "/{position}")
async def rollouts(request: Request) -> Response:
    """One rollout of an example in each evaluation, turn by turn."""
    ids = _ids(request)
    try:
        if not is_comparable(len(ids)):
            raise UsageError(CHOOSE, hint="on the tab Evaluations of an environment")
        position = parse_position(request.path_params["position"])
        found = await call(request, comparisons.get_evaluations, ids)
        hub, read = hub_of(request), comparisons.read_beside
        beside = await run_export(hub, read, hub, caller_of(request), found, *position)
        cursor = find_cursor(request.query_params)
        return await show_page(request, beside_page, found, beside, *position, cursor)
    except PrimeError as error:
        return answer_page_error(request, error)


def _ids(request: Request) -> list[str]:
    """The ids in the query, each once, in their order."""
    return list(dict.fromkeys(request.query_params.getlist("evaluation")))
