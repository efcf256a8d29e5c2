"""What tells the page of an evaluation that samples were added, until it is finished."""

from collections.abc import AsyncGenerator, Iterator
from contextlib import contextmanager

import anyio
from starlette.requests import Request
from starlette.responses import Response

from prime_cli.core.errors import PrimeError, RateLimited
from prime_cli.hub.dispatch import call
from prime_cli.hub.routes.pages.evaluation_downloads import ChunksAnswer
from prime_cli.hub.routes.responses import answer_page_error
from prime_cli.hub.routes.router import Router
from prime_cli.hub.services.evaluations import queries
from prime_cli.pages.events import EVENT_HEADERS, FIRST_EVENT, STILL_THERE, event
from prime_cli.wire.evaluations import CLOSED, EvaluationDetail

router = Router()

_LOOK_SECONDS = 2.0
_LOOKS = 300
"""Of one answer; a browser asks again after it."""
_ALIVE = 8
_MOST = 200
"""Pages that one process watches for."""


@router.page("/dashboard/evaluations/{id}/events")
async def events(request: Request) -> Response:
    """Server-sent events: `grown` when samples were added, `ended` at the end."""
    try:
        known = await call(request, queries.get_evaluation, request.path_params["id"])
        if _watched.pages >= _MOST:
            raise RateLimited("Too many pages wait for evaluations", hint="reload the page")
    except PrimeError as error:
        return answer_page_error(request, error)
    return ChunksAnswer(_watch(request, known), EVENT_HEADERS)


async def _watch(request: Request, known: EvaluationDetail) -> AsyncGenerator[bytes]:
    with _watched.one():
        yield FIRST_EVENT
        for look in range(_LOOKS):
            if known.status in CLOSED:
                yield event("ended", status=known.status)
                return
            await anyio.sleep(_LOOK_SECONDS)
            try:
                found = await call(request, queries.get_evaluation, known.evaluation_id)
            except PrimeError:  # deleted, or hidden from this caller since
                return
            if found.total_samples != known.total_samples:
                yield event("grown", lines=found.total_samples)
            elif look % _ALIVE == 0:
                yield STILL_THERE
            known = found


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
