"""Ways to send a request other than a plain socket."""

import httpx

from prime_cli.core.errors import Offline


class OfflineTransport(httpx.BaseTransport):
    """Refuses every request before a socket or a name lookup; raises Offline."""

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        raise Offline(
            f"{request.url.host} was not asked, because prime is offline",
            hint="run it again without `--offline` and PRIME_OFFLINE",
        )
