"""Machines to rent. A hub without providers has none, and says so in the shapes clients read."""

from typing import Any, NoReturn

from starlette.requests import Request
from starlette.responses import Response

from prime_cli.core.errors import NotAllowed, NotFound
from prime_cli.hub.routes.answers import answer
from prime_cli.hub.routes.operations import Operation
from prime_cli.hub.routes.parameters import Number
from prime_cli.hub.routes.reading import caller_of
from prime_cli.hub.services.access import require_user
from prime_cli.wire.offers import OfferPage
from prime_cli.wire.pods import PodPage, PodStates

_OFFSET = Number("offset", "How many to pass over", default=0, least=0, most=2**31 - 1)
_LIMIT = Number("limit", "How many", default=100, least=1, most=1000)


async def no_offers(_request: Request) -> Response:
    return answer(OfferPage())


async def no_offers_by_type(_request: Request) -> Response:
    return answer({})


async def no_machines(request: Request) -> Response:
    require_user(caller_of(request))
    return answer(PodPage(offset=_OFFSET.read(request), limit=_LIMIT.read(request)))


async def no_states(request: Request) -> Response:
    require_user(caller_of(request))
    return answer(PodStates())


async def no_such_machine(request: Request) -> NoReturn:
    require_user(caller_of(request))
    raise NotFound(f"`{request.path_params['id']}` not found")


async def no_provider(request: Request) -> NoReturn:
    require_user(caller_of(request))
    raise NotAllowed("This hub has no machines to rent", hint="name another hub with `--context`")


def _pages(path: str, summary: str) -> Operation:
    return Operation(
        "GET",
        path,
        no_machines,
        summary,
        answers=PodPage,
        query=(_OFFSET, _LIMIT),
        enveloped=False,
        needs_key=True,
    )


def _one(method: str, path: str, endpoint: Any, summary: str) -> Operation:
    return Operation(method, path, endpoint, summary, answers=dict[str, Any], needs_key=True)


OPERATIONS = (
    *(
        Operation("GET", path, no_offers, summary, answers=OfferPage, enveloped=False)
        for path, summary in (
            ("/availability/gpus", "List machines"),
            ("/availability/multi-node", "List clusters"),
            ("/availability/disks", "List kinds of disks"),
        )
    ),
    *(
        Operation("GET", path, no_offers_by_type, summary, answers=dict[str, Any], enveloped=False)
        for path, summary in (
            ("/availability", "List machines by type, as releases up to 0.4.11 ask"),
            ("/availability/clusters", "List clusters by type, as releases up to 0.4.11 ask"),
            ("/availability/gpu-summary", "List the types of machines"),
        )
    ),
    _pages("/pods", "List pods"),
    _pages("/pods/history", "List pods that ended"),
    _pages("/disks", "List disks"),
    Operation(
        "GET",
        "/pods/status",
        no_states,
        "Show how pods are",
        answers=PodStates,
        enveloped=False,
        needs_key=True,
    ),
    _one("POST", "/pods", no_provider, "Rent a pod"),
    _one("GET", "/pods/{id}", no_such_machine, "Show a pod"),
    _one("DELETE", "/pods/{id}", no_such_machine, "Give a pod back"),
    _one("POST", "/disks", no_provider, "Rent a disk"),
    _one("GET", "/disks/{id}", no_such_machine, "Show a disk"),
    _one("DELETE", "/disks/{id}", no_such_machine, "Give a disk back"),
)
