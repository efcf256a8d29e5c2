"""What tells the page of an evaluation that samples were added, until it is finished."""

from collections.abc import AsyncGenerator, Iterator
from contextlib import ExitStack, contextmanager

import anyio
from starlette.requests import Request
from starlette.responses import Response

from prime_cli.core.errors import PrimeError
from prime_cli.hub.dispatch import call
from prime_cli.hub.routes.pages.evaluation_downloads import ChunksAnswer
from prime_cli.hub.routes.responses import answer_page_error
from prime_cli.hub.routes.router import Router
from prime_cli.hub.services.evaluations import queries
from prime_cli.pages.events import ASK_LATER, EVENT_HEADERS, FIRST_EVENT, event, known_count
from prime_cli.wire.evaluations import CLOSED, EvaluationDetail

router = Router()

_LOOK_SECONDS = 2.0
_LOOKS = 3
"""Of one answer, after which a browser asks again: a hub that stops waits for its answers."""
_MOST = 200
"""Pages that one process watches for."""


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
