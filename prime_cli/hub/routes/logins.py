"""Logging in: a client asks for a code, and then what became of it."""

from starlette.requests import Request
from starlette.responses import Response

from prime_cli.hub.authentication import read_keys
from prime_cli.hub.dispatch import call, hub_of
from prime_cli.hub.routes.answers import answer
from prime_cli.hub.routes.operations import Operation
from prime_cli.hub.routes.parameters import Text
from prime_cli.hub.routes.reading import caller_of, read_json
from prime_cli.hub.services import logins
from prime_cli.wire.accounts import ChallengeRequest, ChallengeStatus, ChallengeTicket

_CHALLENGE = Text("challenge", "The code", longest=100)


async def begin(request: Request) -> Response:
    wanted = await read_json(request, ChallengeRequest)
    args = hub_of(request), caller_of(request).address, wanted.encryption_public_key
    return answer(await call(request, logins.begin_login, *args))


async def poll(request: Request) -> Response:
    tokens = read_keys(request.headers.get("authorization", ""))
    code = _CHALLENGE.read(request) or ""
    args = hub_of(request), code, tokens[0] if tokens else ""
    return answer(await call(request, logins.poll_login, *args))


OPERATIONS = (
    Operation(
        "POST",
        "/auth_challenge/generate",
        begin,
        "Begin to log in",
        answers=ChallengeTicket,
        takes=ChallengeRequest,
        enveloped=False,
    ),
    Operation(
        "GET",
        "/auth_challenge/status",
        poll,
        "Ask whether the login is approved, with its own token as Bearer",
        answers=ChallengeStatus,
        query=(_CHALLENGE,),
        enveloped=False,
    ),
)
