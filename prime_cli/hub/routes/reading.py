"""What routes read from requests: who asks, for what, with which options and body."""

from typing import TypeVar

from starlette.requests import Request

from prime_cli.core.errors import IntegrityError
from prime_cli.core.refs import EnvRef
from prime_cli.hub.context import Caller
from prime_cli.hub.dispatch import hub_of
from prime_cli.wire.codec import convert, decode, without_nulls

T = TypeVar("T")

_LARGEST_BODY = 16 * 1024 * 1024


def caller_of(request: Request) -> Caller:
    """Who asks. Without accounts that is always the owner of this hub."""
    settings = hub_of(request).settings
    if not settings.accounts:
        return Caller.alone(settings.owner)
    caller: Caller = request.state.caller
    return caller


def ref_of(request: Request) -> EnvRef:
    """The environment, and version if any, in the path; raises BadReference."""
    params = request.path_params
    version = f"@{params['version']}" if "version" in params else ""
    return EnvRef.parse(f"{params['owner']}/{params['name']}{version}")


async def read_json(request: Request, kind: type[T]) -> T:
    """The body as a wire struct, where null means left out; raises UsageError."""
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > _LARGEST_BODY:
            raise IntegrityError(f"The body has more than {_LARGEST_BODY} bytes")
    return convert(without_nulls(decode(bytes(body), object)), kind)
