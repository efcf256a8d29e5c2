"""Yanking a version, and taking that back."""

from starlette.requests import Request
from starlette.responses import Response

from prime_cli.hub.dispatch import call, hub_of
from prime_cli.hub.routes.answers import enveloped
from prime_cli.hub.routes.operations import Operation
from prime_cli.hub.routes.reading import caller_of, read_json, ref_of
from prime_cli.hub.services import yanking
from prime_cli.wire.environments import YankReply, YankRequest


async def yank(request: Request) -> Response:
    wanted = await read_json(request, YankRequest)
    args = hub_of(request), caller_of(request), ref_of(request), wanted.reason
    return enveloped(await call(request, yanking.yank_version, *args))


async def unyank(request: Request) -> Response:
    args = hub_of(request), caller_of(request), ref_of(request)
    return enveloped(await call(request, yanking.unyank_version, *args))


_VERSION = "/environmentshub/{owner}/{name}/@{version}"

OPERATIONS = (
    Operation(
        "POST",
        _VERSION + "/yank",
        yank,
        "Let installers pass a version over, unless it is pinned",
        answers=YankReply,
        takes=YankRequest,
        needs_key=True,
    ),
    Operation(
        "POST",
        _VERSION + "/unyank",
        unyank,
        "Take back that a version was yanked",
        answers=YankReply,
        needs_key=True,
    ),
)
