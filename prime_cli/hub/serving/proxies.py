"""The client address of a request behind trusted proxies."""

from collections.abc import Awaitable, Sequence
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network
from ipaddress import IPv4Network as _IPv4Network
from operator import itemgetter

from starlette.types import ASGIApp, Receive, Scope, Send

from prime_cli.core.errors import UsageError

Network = _IPv4Network | IPv6Network
Address = IPv4Address | IPv6Address

_FORWARDED = frozenset({b"x-forwarded-for", b"forwarded", b"x-real-ip"})
_NAME = itemgetter(0)
_FORWARDED_HEADERS = (b"x-forwarded-for", b"x-forwarded-proto", b"x-forwarded-host")


def read_networks(texts: Sequence[str]) -> tuple[Network, ...]:
    """Networks from `10.0.0.0/8`, `::1` and the like; raises UsageError."""
    try:
        return tuple(ip_network(text.strip(), strict=False) for text in texts if text.strip())
    except ValueError as error:
        raise UsageError(
            f"`--trusted-proxies`: {error}", hint="write networks like `10.0.0.0/8` or `127.0.0.1`"
        ) from error


class ProxyMiddleware:
    """Puts the caller's `address` into the state of a request, and whether that is `near`.

    The X-Forwarded-* headers count only when the peer is one of the `trusted` networks; of several
    addresses in X-Forwarded-For the last one that no trusted proxy has wrote itself is believed,
    so a client that sends the header gains nothing. `near` is a caller on this machine with no
    proxy between: behind one that is not trusted everybody would seem to be here. With
    `is_shared` others run code on this machine, so that no address is near.
    """

    def __init__(
        self, app: ASGIApp, trusted: Sequence[Network], *, is_shared: bool = False
    ) -> None:
        self.app = app
        self._trusted = tuple(trusted)
        self._is_shared = is_shared

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        if scope["type"] == "http":
            self._locate(scope)
        return self.app(scope, receive, send)

    def _locate(self, scope: Scope) -> None:
        peer = (scope.get("client") or ("", 0))[0]
        state = scope.setdefault("state", {})
        forwarded = not _FORWARDED.isdisjoint(map(_NAME, scope["headers"]))
        if self._trusted and self._trusts(peer):
            self._follow(scope, peer)
        else:
            state["address"] = peer
        # A peer without an address came through a Unix socket of this machine.
        is_here = not peer or (_is_loopback(peer) and not self._is_shared)
        state["near"] = is_here and not forwarded

    def _follow(self, scope: Scope, peer: str) -> None:
        forwarded_headers = {
            name: value.decode("latin-1").strip()
            for name, value in scope["headers"]
            if name in _FORWARDED_HEADERS
        }
        # Behind several proxies, each has added what it saw.
        chain = b",".join(v for n, v in scope["headers"] if n == b"x-forwarded-for").decode(
            "latin-1"
        )
        address = self._origin(peer, chain)
        scope["state"]["address"] = address
        scope["client"] = (address, 0)
        if forwarded_headers.get(b"x-forwarded-proto") in ("http", "https"):
            scope["scheme"] = forwarded_headers[b"x-forwarded-proto"]
        if host := forwarded_headers.get(b"x-forwarded-host"):
            kept = [(name, value) for name, value in scope["headers"] if name != b"host"]
            scope["headers"] = [*kept, (b"host", host.encode("latin-1"))]

    def _origin(self, peer: str, chain: str) -> str:
        found = peer
        for text in reversed(chain.split(",")):
            address = _read_address(text)
            if address is None:
                break
            found = str(address)
            if not self._trusts(found):
                break
        return found

    def _trusts(self, text: str) -> bool:
        return not text or is_in(text, self._trusted)


def is_in(text: str, networks: Sequence[Network]) -> bool:
    """Whether the address is in one of the networks."""
    address = _read_address(text) if networks else None
    return address is not None and any(address in network for network in networks)


def _read_address(text: str) -> Address | None:
    """An address with or without a port; IPv4 inside IPv6 as IPv4."""
    text = text.strip().strip('"')
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        address = ip_address(text)
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return mapped or address


@lru_cache(maxsize=4096)
def _is_loopback(text: str) -> bool:
    address = _read_address(text)
    return address is not None and address.is_loopback
