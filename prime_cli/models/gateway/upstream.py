"""Sending a call to an endpoint: the only place where the real key is put on a request."""

import io
import urllib.request
from collections.abc import AsyncGenerator, Mapping
from functools import lru_cache
from http import HTTPStatus
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

import aiohttp
from yarl import URL

from prime_cli.core.http import is_loopback
from prime_cli.models.endpoints import Endpoint
from prime_cli.models.gateway.calls import Call, CallFailed, Reply
from prime_cli.models.gateway.limits.headers import is_rate_header
from prime_cli.models.gateway.payloads import error_body
from prime_cli.models.gateway.streams import event

CONNECT_SECONDS = 15.0

_LARGE_BODY = 2**20

# The worker's own credentials, hop-by-hop headers (RFC 9110, 7.6.1), what aiohttp sets itself.
_NOT_FORWARDED = frozenset(
    (
        "accept-encoding api-key authorization connection content-length cookie host keep-alive "
        "proxy-authorization te trailer transfer-encoding upgrade user-agent x-api-key"
    ).split()
)
_NOT_FORWARDED_PREFIXES = ("x-prime-", "x-stainless-", "x-forwarded-")
_RETURNED = ("content-type", "x-request-id")


class Upstream:
    """A pool of connections to endpoints; an async context manager."""

    async def __aenter__(self) -> Self:
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, ttl_dns_cache=300, keepalive_timeout=30),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_SECONDS),
            cookie_jar=aiohttp.DummyCookieJar(),
        )
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self._session.close()

    async def send(self, endpoint: Endpoint, call: Call) -> Reply:
        """The endpoint's answer, whatever its status; raises CallFailed when there is none."""
        try:
            response = await self._session.request(
                call.method,
                _parsed(endpoint.url_of(call.path, call.query)),
                data=_payload(call.body),
                headers=authorized(endpoint, _forwarded(call.headers)),
                allow_redirects=False,
                proxy=proxy_for(endpoint.url),
            )
            if _is_stream(response):
                return Reply(200, headers=_returned(response), chunks=_chunks(response))
            async with response:
                body = await response.read()
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise _no_answer(endpoint, error) from error
        if HTTPStatus.MULTIPLE_CHOICES <= response.status < HTTPStatus.BAD_REQUEST:
            raise _redirected(endpoint, response.headers.get("Location", "nowhere"))
        return Reply(response.status, body, _returned(response))


def _payload(body: bytes) -> bytes | io.BytesIO | None:
    # aiohttp writes bytes in one piece, and warns where that could block for long.
    return io.BytesIO(body) if len(body) > _LARGE_BODY else body or None


@lru_cache(maxsize=256)
def _parsed(url: str) -> URL:
    return URL(url, encoded=True)


def authorized(endpoint: Endpoint, headers: Mapping[str, str]) -> dict[str, str]:
    """`headers` with the endpoint's key and its own headers, which win."""
    named = {name.lower() for name in endpoint.headers}
    kept = {name: value for name, value in headers.items() if name.lower() not in named}
    if endpoint.key is not None and "authorization" not in named:
        kept["Authorization"] = f"Bearer {endpoint.key.reveal()}"
    return {**kept, **endpoint.headers}


def _forwarded(received: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in received.items() if _is_forwarded(name)}


@lru_cache(maxsize=512)
def _is_forwarded(name: str) -> bool:
    name = name.lower()
    return name not in _NOT_FORWARDED and not name.startswith(_NOT_FORWARDED_PREFIXES)


@lru_cache(maxsize=256)
def proxy_for(url: str) -> str | None:
    """The HTTP proxy that the system's settings name for `url`; none on this machine."""
    # Not aiohttp's trust_env: that would also send what ~/.netrc holds for the host.
    parts = urlsplit(url)
    if is_loopback(url) or urllib.request.proxy_bypass(parts.hostname or ""):
        return None
    return urllib.request.getproxies().get(parts.scheme)


def _is_stream(response: aiohttp.ClientResponse) -> bool:
    return response.status == HTTPStatus.OK and response.content_type == "text/event-stream"


def _returned(response: aiohttp.ClientResponse) -> dict[str, str]:
    found = ((_returned_as(name), value) for name, value in response.headers.items())
    return {name: value for name, value in found if name}


@lru_cache(maxsize=512)
def _returned_as(name: str) -> str:
    name = name.lower()
    return name if name in _RETURNED or is_rate_header(name) else ""


async def _chunks(response: aiohttp.ClientResponse) -> AsyncGenerator[bytes, None]:
    # Leaving the block early (the caller hung up) closes the connection, so that the
    # endpoint stops generating.
    async with response:
        try:
            async for chunk in response.content.iter_any():
                yield chunk
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            message = f"The stream broke off: {error or type(error).__name__}"
            yield event(error_body(message, code="stream_broken", blame="infra"))


def _no_answer(endpoint: Endpoint, error: Exception) -> CallFailed:
    where = urlsplit(endpoint.url).netloc
    certificate = isinstance(error, aiohttp.ClientConnectorCertificateError)
    return CallFailed(
        f"No answer from {where}: {error or type(error).__name__}",
        status=502,
        blame="infra",
        code="no_answer",
        retryable=not certificate,
    )


def _redirected(endpoint: Endpoint, location: str) -> CallFailed:
    return CallFailed(
        f"{urlsplit(endpoint.url).netloc} redirects to {location}, where the key is not sent; "
        "give the final URL with `-b URL`",
        status=502,
        blame="infra",
        code="redirected",
    )
