"""Signatures, beside the version that they are about."""

from starlette.requests import Request
from starlette.responses import Response

from prime_cli.hub.dispatch import call, hub_of
from prime_cli.hub.routes.answers import enveloped
from prime_cli.hub.routes.operations import Operation
from prime_cli.hub.routes.reading import caller_of, read_json, ref_of, ref_to_read
from prime_cli.hub.services import signatures
from prime_cli.wire.locks import Signatures


async def get_signatures(request: Request) -> Response:
    args = hub_of(request), caller_of(request), await ref_to_read(request)
    return enveloped(await call(request, signatures.get_signatures, *args))


async def put_signatures(request: Request) -> Response:
    given = await read_json(request, Signatures, most=signatures.MOST_BYTES)
    args = hub_of(request), caller_of(request), ref_of(request), given
    return enveloped(await call(request, signatures.put_signatures, *args))


_PATH = "/environmentshub/{owner}/{name}/@{version}/signatures"

OPERATIONS = (
    Operation("GET", _PATH, get_signatures, "The signatures of a version", answers=Signatures),
    Operation(
        "PUT",
        _PATH,
        put_signatures,
        "Keep the signatures of a version",
        answers=Signatures,
        takes=Signatures,
        needs_key=True,
    ),
)
