"""Single requests, small, quick and never redirected: whether a hub responds, its clock, and if it
accepts a key; and those of a served hub to providers of OpenID Connect.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

import httpx

from prime_cli import __version__
from prime_cli.client.api.connection import API, was_never_sent
from prime_cli.client.api.transports import host_of, open_client, parse_url, reason_of
from prime_cli.core.errors import Unreachable
from prime_cli.core.http import read_date
from prime_cli.core.network import proxy_failure

_MOST_BYTES = 512 * 1024
_SECONDS = 10.0


@dataclass(frozen=True)
class ProbeResult:
    """The response: its HTTP status, its Date header, and the seconds it took."""

    status: int
    date: datetime | None
    seconds: float
    with_key: bool


def probe(
    base_url: str,
    *,
    key: str | None = None,
    transport: httpx.BaseTransport | None = None,
    seconds: float,
) -> ProbeResult:
    """Ask once who the key belongs to, without retries, redirects or reading the body.

    `base_url` is an origin. Each step (connecting, the response headers) may take `seconds`. Raises
    Unreachable, and UsageError as `open_client` does.
    """
    url = parse_url(f"{base_url.rstrip('/')}{API}/user/whoami")
    headers = {"user-agent": f"prime/{__version__}"}
    if key:
        headers["authorization"] = f"Bearer {key}"
    began = time.monotonic()
    try:
        with (
            open_client(transport, httpx.Timeout(seconds)) as client,
            client.stream("GET", url, headers=headers) as response,
        ):
            passed = time.monotonic() - began
            date = read_date(response.headers.get("date", ""))
            return ProbeResult(response.status_code, date, passed, with_key=bool(key))
    except httpx.TimeoutException as error:
        raise Unreachable(
            f"{host_of(url)} did not answer within {seconds:g} seconds",
            hint="check that the hub is up, and that no proxy interferes",
        ) from error
    except httpx.TransportError as error:
        if was_never_sent(error) and (failure := proxy_failure(str(url), reason_of(error))):
            raise failure from error
        raise Unreachable(
            f"{host_of(url)} cannot be reached: {reason_of(error)}", hint=_step(str(error))
        ) from error


def _step(said: str) -> str:
    if "CERTIFICATE_VERIFY_FAILED" in said:
        return (
            "if the hub uses your own certificate authority, set SSL_CERT_FILE to its certificates"
        )
    return "check the network and the URL (`prime config show`)"


def fetch(
    url: str, *, form: bytes | None = None, headers: Mapping[str, str] | None = None
) -> tuple[int, bytes]:
    """The status and the body of one answer; see `hub.identity.Fetch`."""
    try:
        with (
            open_client(None, httpx.Timeout(_SECONDS / 2)) as client,
            client.stream(
                "GET" if form is None else "POST", url, content=form, headers=headers
            ) as response,
        ):
            return response.status_code, _read(response)
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        reason = str(error) or type(error).__name__
        raise Unreachable(f"{url} does not answer: {reason}") from error


def _read(response: httpx.Response) -> bytes:
    ends = time.monotonic() + _SECONDS
    body = bytearray()
    for chunk in response.iter_bytes():
        body += chunk
        if len(body) > _MOST_BYTES:
            raise Unreachable(f"{response.url} sent more than {_MOST_BYTES} bytes")
        if time.monotonic() > ends:
            raise Unreachable(f"{response.url} took more than {_SECONDS:.0f} s")
    return bytes(body)
