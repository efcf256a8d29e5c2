"""Disks to rent. This hub has none, and says so in the shapes clients read."""

from typing import Any, NoReturn

from starlette.requests import Request
from starlette.responses import Response

from prime_cli.core.errors import NotAllowed, NotFound
from prime_cli.hub.routes.answers import answer
from prime_cli.hub.routes.operations import Operation
from prime_cli.hub.routes.parameters import Number
from prime_cli.hub.routes.reading import caller_of
from prime_cli.hub.services.access import require_user
from prime_cli.wire.disks import DiskPage

_OFFSET = Number("offset", "How many to pass over", default=0, least=0, most=2**31 - 1)
_LIMIT = Number("limit", "How many", default=100, least=1, most=1000)


async def no_disks(request: Request) -> Response:
    return answer(DiskPage(offset=_OFFSET.read(request), limit=_LIMIT.read(request)))


async def no_such_disk(request: Request) -> NoReturn:
    require_user(caller_of(request))
    raise NotFound(f"`{request.path_params['id']}` not found")


async def no_provider(request: Request) -> NoReturn:
    require_user(caller_of(request))
    raise NotAllowed("This hub has no disks to rent", hint="name another hub with `--context`")


def _one(method: str, path: str, endpoint: Any, summary: str) -> Operation:
    return Operation(method, path, endpoint, summary, answers=dict[str, Any], needs_key=True)


OPERATIONS = (
    Operation(
        "GET",
        "/disks",
        no_disks,
        "List disks",
        answers=DiskPage,
        query=(_OFFSET, _LIMIT),
        enveloped=False,
        needs_key=True,
    ),
    _one("POST", "/disks", no_provider, "Rent a disk"),
    _one("GET", "/disks/{id}", no_such_disk, "Show a disk"),
    _one("DELETE", "/disks/{id}", no_such_disk, "Give a disk back"),
)
