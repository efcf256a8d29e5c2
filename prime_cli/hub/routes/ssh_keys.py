"""Public keys that open the caller's pods."""

from starlette.requests import Request
from starlette.responses import Response

from prime_cli.hub.dispatch import call, hub_of
from prime_cli.hub.routes.answers import answer
from prime_cli.hub.routes.operations import Operation
from prime_cli.hub.routes.parameters import Number
from prime_cli.hub.routes.reading import caller_of, read_json
from prime_cli.hub.services.compute import ssh_keys
from prime_cli.wire.ssh_keys import KeyChange, KeyChanged, KeyUpload, SshKey, SshKeyPage

_OFFSET = Number("offset", "How many to pass over", default=0, least=0, most=2**31 - 1)
_LIMIT = Number("limit", "How many", default=100, least=1, most=1000)
_ONE = "/ssh_keys/{key_id}"


async def list_(request: Request) -> Response:
    args = hub_of(request), caller_of(request)
    offset, limit = _OFFSET.read(request), _LIMIT.read(request)
    return answer(await call(request, ssh_keys.list_keys, *args, offset=offset, limit=limit))


async def add(request: Request) -> Response:
    upload = await read_json(request, KeyUpload)
    args = hub_of(request), caller_of(request), upload
    return answer(await call(request, ssh_keys.add_key, *args))


async def change(request: Request) -> Response:
    wanted = await read_json(request, KeyChange)
    args = hub_of(request), caller_of(request), request.path_params["key_id"], wanted
    return answer(await call(request, ssh_keys.change_key, *args))


async def remove(request: Request) -> Response:
    args = hub_of(request), caller_of(request), request.path_params["key_id"]
    await call(request, ssh_keys.remove_key, *args)
    return answer({"message": "SSH key removed"})


OPERATIONS = (
    Operation(
        "GET", "/ssh_keys", list_,
        "List the public keys that open the caller's pods",
        answers=SshKeyPage, query=(_OFFSET, _LIMIT), enveloped=False, needs_key=True,
    ),
    Operation(
        "POST", "/ssh_keys", add,
        "Let a public key open the caller's pods",
        answers=SshKey, takes=KeyUpload, enveloped=False, needs_key=True,
    ),
    Operation(
        "PATCH", _ONE, change,
        "Make a key the primary one",
        answers=KeyChanged, takes=KeyChange, enveloped=False, needs_key=True,
    ),
    Operation(
        "DELETE", _ONE, remove,
        "Let a key open no pod that is made from now on",
        answers=dict[str, str], enveloped=False, needs_key=True,
    ),
)  # fmt: skip
