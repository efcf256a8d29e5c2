"""Forms that browsers send."""

from urllib.parse import parse_qsl, urlsplit

from starlette.requests import Request

from prime_cli.core.errors import NotAllowed, TooLarge, UsageError
from prime_cli.hub.dispatch import hub_of

_LARGEST_FORM = 16 * 1024
_MOST_FIELDS = 50


async def read_form(request: Request) -> dict[str, str]:
    """The fields of a form from a page of this hub; of a name that is there twice, the last.

    Raises NotAllowed for one that another site makes a browser send, TooLarge or UsageError.
    """
    _require_same_origin(request)
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > _LARGEST_FORM:
            raise TooLarge(f"The form has more than {_LARGEST_FORM} bytes")
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
        raise NotAllowed("This form was not sent from a page of this hub")
