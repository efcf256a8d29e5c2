"""Ways to send a request other than a plain socket."""

import httpx

from prime_cli.api.addresses import host_of
from prime_cli.core.errors import Offline, UsageError


def open_client(transport: httpx.BaseTransport | None, timeout: httpx.Timeout) -> httpx.Client:
    """A client by `transport`, else by sockets, with the proxies and certificates of the variables.

    Raises UsageError for those that httpx cannot use: no address, SOCKS without its package, a
    file that is not there or holds no certificates.
    """
    try:
        return httpx.Client(transport=transport, timeout=timeout)
    except (OSError, ValueError, ImportError, httpx.InvalidURL) as error:
        raise UsageError(
            f"The variables for proxies or certificates cannot be used: {error}",
            hint="see which with `prime doctor`",
        ) from error


class OfflineTransport(httpx.BaseTransport):
    """Refuses every request before a socket or a name lookup; raises Offline."""

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        raise Offline(
            f"{host_of(request.url)} was not asked, because prime is offline",
            hint="run it again without `--offline` and PRIME_OFFLINE",
        )
