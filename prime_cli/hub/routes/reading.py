"""What routes read from requests: who asks, for what, with which options and body."""

from typing import TypeVar

from starlette.requests import Request

from prime_cli.core.errors import TooLarge, UsageError
from prime_cli.core.refs import EnvRef
from prime_cli.hub.context import Caller
from prime_cli.hub.dispatch import call, hub_of
from prime_cli.hub.upstream.through import ReadThrough
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


async def ref_to_read(request: Request) -> EnvRef:
    """The same, once what a hub upstream of this one has of it is here too.

    Raises BadReference, and what `ReadThrough.prepare` raises.
    """
    ref = ref_of(request)
    await read_through(request, ref)
    return ref


async def read_through(request: Request, ref: EnvRef) -> None:
    """Have here what `ref` means, if an upstream has it; see `ReadThrough.prepare`."""
    through: ReadThrough | None = request.app.state.through
    if through is not None:
        await call(request, through.prepare, hub_of(request), ref)


async def read_json(request: Request, kind: type[T], *, most: int = _LARGEST_BODY) -> T:
    """The body as a wire struct, where null means left out; raises UsageError, TooLarge."""
    body = await read_body(request, most)
    return convert(without_nulls(decode(bytes(body), object)), kind)


async def read_exact_json(request: Request, kind: type[T]) -> T:
    """The same with every null in it, for JSON that belongs to the client; no body is `{}`."""
    return decode(bytes(await read_body(request)) or b"{}", kind)


async def read_body(request: Request, most: int = _LARGEST_BODY) -> bytearray:
    """All bytes of the body; raises TooLarge as soon as there are more than `most`.

    Raises UsageError for a compressed one: what it becomes could be of any size.
    """
    encoding = request.headers.get("content-encoding", "identity")
    if encoding.lower() not in ("", "identity"):
        raise UsageError(f"The body is encoded as `{encoding[:40]}`", hint="send it as it is")
    declared = request.headers.get("content-length", "")
    if declared.isdecimal() and int(declared[:20]) > most:
        raise TooLarge(f"The body has more than {most} bytes")
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > most:
            raise TooLarge(f"The body has more than {most} bytes")
    return body
