"""Forks and stars."""

from starlette.requests import Request
from starlette.responses import Response

from prime_cli.hub.dispatch import call, hub_of
from prime_cli.hub.routes.answers import enveloped
from prime_cli.hub.routes.operations import Operation
from prime_cli.hub.routes.reading import caller_of, read_json, ref_of
from prime_cli.hub.services import forking, starring
from prime_cli.wire.environments import FinalizeReply, ForkReply, ForkRequest

_ONE = "/environmentshub/{owner}/{name}"


async def fork(request: Request) -> Response:
    wanted = await read_json(request, ForkRequest)
    args = hub_of(request), caller_of(request), ref_of(request), wanted
    return enveloped(await call(request, forking.fork, *args))


async def set_star(request: Request) -> Response:
    args = hub_of(request), caller_of(request), ref_of(request)
    starred = request.method == "PUT"
    return enveloped(await call(request, starring.set_star, *args, starred=starred))


OPERATIONS = (
    Operation(
        "POST",
        _ONE + "/fork",
        fork,
        "Copy an environment to the caller or a team",
        answers=ForkReply,
        takes=ForkRequest,
        needs_key=True,
    ),
    Operation("PUT", _ONE + "/star", set_star, "Star it", answers=FinalizeReply, needs_key=True),
    Operation(
        "DELETE",
        _ONE + "/star",
        set_star,
        "Take the star back",
        answers=FinalizeReply,
        needs_key=True,
    ),
)
