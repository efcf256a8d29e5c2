"""What routes read from requests: the environment, JSON bodies and forms."""

from typing import TYPE_CHECKING, TypeVar
from urllib.parse import parse_qsl, urlsplit

from starlette.requests import Request

from prime_cli.core.errors import NotAllowed, TooLarge, UsageError
from prime_cli.core.refs import EnvRef
from prime_cli.hub.dispatch import hub_of, run_outside
from prime_cli.wire.codec import convert, decode, without_nulls

if TYPE_CHECKING:
    from prime_cli.hub.upstream.read_through import ReadThrough

# --- Requests of the API ---

T = TypeVar("T")

LARGEST_BODY = 16 * 1024 * 1024


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
        hub = hub_of(request)
        await run_outside(hub, through.prepare, hub, ref)


async def read_json(request: Request, kind: type[T], most: int = LARGEST_BODY) -> T:
    """The body as a wire struct, where null means left out; raises UsageError, TooLarge."""
    body = await read_body(request, most)
    return convert(without_nulls(decode(bytes(body), object)), kind)


async def read_exact_json(request: Request, kind: type[T], most: int = LARGEST_BODY) -> T:
    """The same with every null in it, for JSON that belongs to the client; no body is `{}`."""
    return decode(bytes(await read_body(request, most)) or b"{}", kind)


async def read_body(request: Request, most: int = LARGEST_BODY) -> bytearray:
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


# --- Forms ---

LARGEST_FORM = 16 * 1024
_MOST_FIELDS = 50


async def read_form(request: Request, most: int = LARGEST_FORM) -> dict[str, str]:
    """The fields of a form from a page of this hub; of a name that is there twice, the last.

    Raises NotAllowed for one that another site makes a browser send, TooLarge or UsageError.
    """
    _require_same_origin(request)
    return await read_fields(request, most)


async def read_fields(request: Request, most: int = LARGEST_FORM) -> dict[str, str]:
    """The same from wherever the form comes."""
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > most:
            raise TooLarge(f"The form has more than {most} bytes")
    try:
        return dict(parse_qsl(body.decode(), max_num_fields=_MOST_FIELDS, errors="strict"))
    except ValueError as error:
        raise UsageError("The form cannot be read") from error


def _require_same_origin(request: Request) -> None:
    """Raise NotAllowed when the form comes from elsewhere, as browsers tell by themselves.

    By `Sec-Fetch-Site` (W3C Fetch Metadata), in older browsers by `Origin` (RFC 6454), which all
    send with a POST. What sends neither is no browser, and cannot be made to send anything.
    """
    site = request.headers.get("sec-fetch-site")
    origin = request.headers.get("origin")
    hosts = {request.headers.get("host"), urlsplit(hub_of(request).settings.public_url).netloc}
    if site is not None:
        same = site in ("same-origin", "none")
    else:
        same = origin is None or urlsplit(origin).netloc in hosts
    if not same:
        raise NotAllowed("The form was submitted from another site")
