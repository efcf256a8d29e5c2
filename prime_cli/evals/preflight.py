"""Is anybody listening at the model's address? Asked before anything expensive is done."""

import socket
import urllib.request
from urllib.parse import urlsplit

from prime_cli.core.errors import Unreachable
from prime_cli.models.endpoints import Endpoint

_SECONDS = 10.0
_PORTS = {"http": 80, "https": 443}


def check_reachable(endpoint: Endpoint) -> None:
    """Open and close one connection to each address of `endpoint`; raises Unreachable.

    No request is sent, so nothing is billed. Behind a proxy only the proxy could tell: there
    nothing is checked.
    """
    for member in endpoint.group:
        if not member.builtin:
            _check(member)


def _check(endpoint: Endpoint) -> None:
    parts = urlsplit(endpoint.url)
    host = parts.hostname or ""
    if parts.scheme in urllib.request.getproxies() and not urllib.request.proxy_bypass(host):
        return
    port = parts.port or _PORTS.get(parts.scheme, 80)
    try:
        socket.create_connection((host, port), timeout=_SECONDS).close()
    except OSError as error:
        raise Unreachable(
            f"No model server answers at {endpoint.url}: {error.strerror or error}",
            hint="start it, or name another one with `-b URL`",
        ) from error
