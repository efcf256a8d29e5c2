"""One's own API keys. Not part of the public wire: `keys` in the capabilities announces them."""

from starlette.requests import Request
from starlette.responses import Response

from prime_cli.hub.dispatch import call, hub_of
from prime_cli.hub.routes.answers import enveloped
from prime_cli.hub.routes.operations import Operation
from prime_cli.hub.routes.reading import caller_of, read_json
from prime_cli.hub.services import keyring
from prime_cli.wire.accounts import KeyList, KeyReply, KeyRequest, KeysRevoked


async def list_(request: Request) -> Response:
    caller = caller_of(request)
    found = await call(request, keyring.list_keys, hub_of(request), caller, caller.slug)
    return enveloped(KeyList(found))


async def create(request: Request) -> Response:
    wanted = await read_json(request, KeyRequest)
    caller = caller_of(request)
    made = await call(
        request,
        keyring.issue_key,
        hub_of(request),
        caller,
        caller.slug,
        name=wanted.name,
        scope=wanted.scope,
        owner=wanted.owner,
        seconds=wanted.expires_in,
    )
    return enveloped(KeyReply(made.id, made.key))


async def revoke(request: Request) -> Response:
    args = hub_of(request), caller_of(request), request.path_params["key_id"]
    revoked = await call(request, keyring.revoke_key, *args)
    return enveloped(KeysRevoked(revoked=len(revoked)))


OPERATIONS = (
    Operation(
        "GET",
        "/user/keys",
        list_,
        "List one's keys, of which none is shown; without the scope `admin`, the one that asks",
        answers=KeyList,
        needs_key=True,
    ),
    Operation(
        "POST",
        "/user/keys",
        create,
        "Make a key, which is shown this once",
        answers=KeyReply,
        takes=KeyRequest,
        needs_key=True,
    ),
    Operation(
        "DELETE",
        "/user/keys/{key_id}",
        revoke,
        "Revoke a key and those made with it at once; `current` is the one that asks",
        answers=KeysRevoked,
        needs_key=True,
    ),
)
