"""Disks that outlive pods."""

from starlette.requests import Request
from starlette.responses import Response

from prime_cli.hub.dispatch import call_provider, hub_of
from prime_cli.hub.routes.answers import answer
from prime_cli.hub.routes.operations import Operation
from prime_cli.hub.routes.parameters import Number
from prime_cli.hub.routes.reading import caller_of, read_json
from prime_cli.hub.services.compute import disks
from prime_cli.wire.disks import Disk, DiskChange, DiskCreation, DiskPage
from prime_cli.wire.pods import Ended

_OFFSET = Number("offset", "How many to pass over", default=0, least=0, most=2**31 - 1)
_LIMIT = Number("limit", "How many", default=100, least=1, most=1000)
_ONE = "/disks/{id}"


async def list_(request: Request) -> Response:
    args = hub_of(request), caller_of(request)
    offset, limit = _OFFSET.read(request), _LIMIT.read(request)
    return answer(await call_provider(request, disks.list_disks, *args, offset=offset, limit=limit))


async def create(request: Request) -> Response:
    creation = await read_json(request, DiskCreation)
    args = hub_of(request), caller_of(request), creation
    return answer(await call_provider(request, disks.create_disk, *args))


async def get(request: Request) -> Response:
    args = hub_of(request), caller_of(request), request.path_params["id"]
    return answer(await call_provider(request, disks.get_disk, *args))


async def rename(request: Request) -> Response:
    change = await read_json(request, DiskChange)
    args = hub_of(request), caller_of(request), request.path_params["id"], change.name
    return answer(await call_provider(request, disks.rename_disk, *args))


async def terminate(request: Request) -> Response:
    args = hub_of(request), caller_of(request), request.path_params["id"]
    return answer(await call_provider(request, disks.terminate_disk, *args))


OPERATIONS = (
    Operation(
        "GET", "/disks", list_, "List disks",
        answers=DiskPage, query=(_OFFSET, _LIMIT), enveloped=False, needs_key=True,
    ),
    Operation(
        "POST", "/disks", create, "Rent a disk",
        answers=Disk, takes=DiskCreation, enveloped=False, needs_key=True,
    ),
    Operation(
        "GET", _ONE, get, "Show a disk",
        answers=Disk, enveloped=False, needs_key=True,
    ),
    Operation(
        "PATCH", _ONE, rename, "Call a disk otherwise",
        answers=Disk, takes=DiskChange, enveloped=False, needs_key=True,
    ),
    Operation(
        "DELETE", _ONE, terminate, "Give a disk back, with all that is on it",
        answers=Ended, enveloped=False, needs_key=True,
    ),
)  # fmt: skip
