"""Connections to endpoints, directly or through a proxy."""

import sys
from functools import lru_cache
from types import TracebackType
from typing import Any, Self

import aiohttp
from yarl import URL

from prime_cli.core import network

_Way = tuple[str, str | None]
"""The scheme, and the SOCKS proxy."""


@lru_cache(maxsize=256)
def proxy_for(url: str) -> str | None:
    """The proxy to `url`, if there is one; raises UsageError for one that cannot be used."""
    # Not aiohttp's trust_env, which would also send the host's login in ~/.netrc.
    return network.proxy_for(url)


def failures() -> tuple[type[Exception], ...]:
    """What a request may raise, with the errors of SOCKS proxies once there is one."""
    socks = sys.modules.get("aiohttp_socks")
    names = ("ProxyError", "ProxyConnectionError", "ProxyTimeoutError") if socks else ()
    of_socks = tuple(getattr(socks, name) for name in names)
    return (aiohttp.ClientError, TimeoutError, OSError, *of_socks)


class Connections:
    """One session of aiohttp for each way that is used; an async context manager.

    What httpx calls a mount: a SOCKS proxy is a connector's own, an HTTP proxy that of a request.
    """

    def __init__(self, timeout: aiohttp.ClientTimeout) -> None:
        self._timeout = timeout
        self._sessions: dict[_Way, aiohttp.ClientSession] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close all of them."""
        for session in self._sessions.values():
            await session.close()

    def request(self, method: str, url: URL, **options: Any) -> Any:
        """As `ClientSession.request`; raises UsageError for proxies and certificates."""
        proxy = proxy_for(str(url.origin()))
        socks = proxy if proxy and network.is_socks(proxy) else None
        session = self._session((url.scheme, socks))
        http_proxy = None if socks else proxy
        return session.request(method, url, proxy=http_proxy, allow_redirects=False, **options)

    def _session(self, way: _Way) -> aiohttp.ClientSession:
        if way not in self._sessions:
            self._sessions[way] = aiohttp.ClientSession(
                connector=_connector(*way),
                timeout=self._timeout,
                cookie_jar=aiohttp.DummyCookieJar(),
            )
        return self._sessions[way]


def _connector(scheme: str, socks: str | None) -> aiohttp.TCPConnector:
    tls = network.load_certificates() if scheme == "https" else True
    if socks is None:
        return aiohttp.TCPConnector(limit=0, ttl_dns_cache=300, keepalive_timeout=30, ssl=tls)
    from aiohttp_socks import ProxyConnector

    # The proxy looks names up, as in curl with socks5h.
    url = socks.replace("socks5h:", "socks5:", 1)
    return ProxyConnector.from_url(url, rdns=True, limit=0, keepalive_timeout=30, ssl=tls)
