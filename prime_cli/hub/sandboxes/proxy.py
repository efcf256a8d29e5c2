"""The proxy of the network `packages`: it reaches the package indexes, and nothing else.

It listens on the sandbox's own loopback and connects from here. CONNECT is for https; what is plain
http is passed on by its absolute address. A package index is allowed with its port, also where it
is on loopback or the local network, as a mirror of PyPI often is. A host that somebody else names
must have a public address: the proxy connects from this machine, where names lead further.
"""

import asyncio
import ipaddress
import socket
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any
from urllib.parse import SplitResult, urlsplit

from prime_cli.hub.sandboxes.internet import PRIVATE_NETWORKS, own_networks

PROXY_PORT = 3128
"""Of the sandbox's own loopback."""

ANY_HOST = "*"
"""Every host, at every port."""

_LONGEST_HEAD = 32 * 1024
_HEAD_SECONDS = 30.0
_CONNECT_SECONDS = 20.0
_CHUNK = 1 << 16
_AT_ONCE = 64
_MOST_CONNECTIONS = 512
"""Each is a descriptor of the supervisor, which all sandboxes share."""
_HOP = ("proxy-connection:", "proxy-authorization:", "connection:", "keep-alive:", "host:")
_LOOPBACK = ("localhost", "127.0.0.1")
_PORTS = {True: 443, False: 80}
"""By whether it is a tunnel."""


def proxy_variables(hosts: Iterable[str]) -> dict[str, str]:
    """The variables by which programs find the proxy of `hosts`.

    A sandbox's own loopback is asked without it, unless an index has that name on this machine:
    `no_proxy` knows no ports.
    """
    found = dict.fromkeys(("http_proxy", "https_proxy"), f"http://127.0.0.1:{PROXY_PORT}")
    indexes = {host.rpartition(":")[0] for host in hosts}
    found["no_proxy"] = ",".join(each for each in _LOOPBACK if each not in indexes)
    return found | {name.upper(): value for name, value in found.items()}


class Proxy:
    """The proxy of one sandbox.

    `hosts` and `public_hosts` are `host:port`, `*.host:port`, or ANY_HOST; the latter are reached
    at public addresses only.
    """

    def __init__(self, hosts: Iterable[str] = (), public_hosts: Iterable[str] = ()) -> None:
        self._room = asyncio.Semaphore(_AT_ONCE)
        self._connections = 0
        self._joined: dict[asyncio.Task[Any], _Request] = {}
        """What each connection that is passed on asked for."""
        self.allow(hosts, public_hosts)

    def allow(self, hosts: Iterable[str], public_hosts: Iterable[str]) -> None:
        """Reach these hosts from now on; connections to others are cut."""
        self._hosts = frozenset(host.lower() for host in hosts)
        self._public_hosts = frozenset(host.lower() for host in public_hosts)
        for task, request in self._joined.items():
            if not self._allows(request):
                task.cancel()

    def _allows(self, request: "_Request") -> bool:
        allowed = (self._hosts, self._public_hosts)
        return any(_is_among(each, request.host, request.port) for each in allowed)

    async def listen(self, listener: socket.socket) -> asyncio.Server:
        """Serve the sandbox that has `listener`."""
        return await asyncio.start_server(self._serve, sock=listener, limit=_LONGEST_HEAD)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection; one too many is closed."""
        self._connections += 1
        try:
            if self._connections <= _MOST_CONNECTIONS:
                async with self._room:
                    await self._answer(reader, writer)
        except (OSError, ValueError, TimeoutError, asyncio.IncompleteReadError):
            # A stranger's connection, which may break at any moment.
            pass
        finally:
            self._connections -= 1
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            request = await _read_request(reader)
            upstream = await self._connect(request)
        except _Refused as error:
            await _refuse(writer, error.status, str(error))
            return
        try:
            if request.is_tunnel:
                writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            else:
                upstream[1].write(request.head())
            await self._pass_on(request, (reader, writer), upstream)
        finally:
            upstream[1].close()

    async def _pass_on(self, request: "_Request", inside: "_Ends", outside: "_Ends") -> None:
        task = asyncio.current_task()
        # It may have changed while the host was connected to.
        if task is None or not self._allows(request):
            return
        self._joined[task] = request
        try:
            await _join(inside, outside)
        finally:
            del self._joined[task]

    async def _connect(self, request: "_Request") -> "_Ends":
        """A connection to where a request leads; raises _Refused."""
        host, port = request.host, request.port
        is_index = _is_among(self._hosts, host, port)
        if not (is_index or _is_among(self._public_hosts, host, port)):
            raise _Refused(HTTPStatus.FORBIDDEN, _not_allowed(host, port))
        try:
            async with asyncio.timeout(_CONNECT_SECONDS):
                address = host if is_index else await _public_address(host, port)
                if address is None:
                    raise _Refused(HTTPStatus.FORBIDDEN, _not_public(host))
                return await asyncio.open_connection(address, port)
        except (OSError, TimeoutError) as error:
            sentence = f"{host}:{port} does not answer: {error}"
            raise _Refused(HTTPStatus.BAD_GATEWAY, sentence) from error


class _Refused(Exception):
    """A request that is answered with `status` and a sentence."""

    def __init__(self, status: HTTPStatus, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status


@dataclass(frozen=True)
class _Request:
    """What a client asks: a tunnel, or a page by its absolute address."""

    method: str
    url: SplitResult
    version: str
    fields: tuple[str, ...]

    @property
    def is_tunnel(self) -> bool:
        return self.method == "CONNECT"

    @property
    def host(self) -> str:
        return self.url.hostname or ""

    @property
    def port(self) -> int:
        return self.url.port or _PORTS[self.is_tunnel]

    def head(self) -> bytes:
        """The head of the request for a page, for its server."""
        path = self.url.path or "/"
        path += f"?{self.url.query}" if self.url.query else ""
        kept = (each for each in self.fields if not each.lower().startswith(_HOP))
        # The client's own could name another host of the same server.
        host = f"Host: {self.url.netloc.rpartition('@')[2]}"
        # One request a connection: the next may be for another host.
        lines = [f"{self.method} {path} {self.version}", host, *kept, "Connection: close"]
        return "\r\n".join([*lines, "", ""]).encode("latin-1")


async def _read_request(reader: asyncio.StreamReader) -> _Request:
    """Raises _Refused, and ValueError for what is no request."""
    async with asyncio.timeout(_HEAD_SECONDS):
        try:
            head = (await reader.readuntil(b"\r\n\r\n"))[:-4]
        except asyncio.LimitOverrunError:
            status = HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE
            raise _Refused(status, "The head is too long") from None
    line, *fields = head.decode("latin-1").split("\r\n")
    method, target, version = line.split(" ", 2)
    if any(each in head.replace(b"\r\n", b"") for each in (b"\r", b"\n", b"\0")):
        raise _Refused(HTTPStatus.BAD_REQUEST, "A line of the head ends in the middle")
    url = urlsplit(f"//{target}" if method == "CONNECT" else target)
    if not url.hostname or not (method == "CONNECT" or url.scheme == "http"):
        sentence = "This is a proxy: send it absolute addresses"
        raise _Refused(HTTPStatus.BAD_REQUEST, sentence)
    return _Request(method, url, version, tuple(fields))


_Ends = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def _join(inside: _Ends, outside: _Ends) -> None:
    """Copy both ways until the side outside has ended, or both have."""
    sending = asyncio.create_task(_copy(inside[0], outside[1]))
    try:
        await _copy(outside[0], inside[1])
    finally:
        sending.cancel()
        with suppress(asyncio.CancelledError):
            await sending


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while chunk := await reader.read(_CHUNK):
            writer.write(chunk)
            await writer.drain()
        if writer.can_write_eof():
            writer.write_eof()


def _is_among(hosts: frozenset[str], host: str, port: int) -> bool:
    if ANY_HOST in hosts:
        return True
    host = host.lower().rstrip(".")
    if f"{host}:{port}" in hosts:
        return True
    parts = host.split(".")
    parents = (".".join(parts[at:]) for at in range(1, len(parts)))
    return any(f"*.{parent}:{port}" in hosts for parent in parents)


async def _public_address(host: str, port: int) -> str | None:
    """The first address of a host on the Internet, to connect to; None if it has none."""
    loop = asyncio.get_running_loop()
    own = tuple(own_networks())
    for *_, found in await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM):
        # A machine's own network may have public addresses.
        is_own = any(ipaddress.ip_address(found[0]) in each for each in own)
        if is_public(str(found[0])) and not is_own:
            return str(found[0])
    return None


def is_public(address: str) -> bool:
    """Whether an address is on the Internet, also one of version 4 inside one of version 6."""
    found = ipaddress.ip_address(address)
    if isinstance(found, ipaddress.IPv4Address):
        return found.is_global and not any(found in each for each in _PRIVATE)
    inner = found.ipv4_mapped or found.sixtofour
    if found in _NAT64:
        inner = ipaddress.IPv4Address(int(found) & 0xFFFFFFFF)
    if inner is not None:
        return is_public(str(inner))
    return found.is_global and found in _UNICAST


_PRIVATE = tuple(map(ipaddress.ip_network, PRIVATE_NETWORKS))
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
_UNICAST = ipaddress.ip_network("2000::/3")
"""What IANA gives out of version 6; beyond it, some addresses lead into a local network."""


def _not_public(host: str) -> str:
    return (
        f"{host[:200]} is on this machine's own network, where a sandbox can reach only the "
        "configured package indexes"
    )


def _not_allowed(host: str, port: int) -> str:
    return (
        f"This sandbox reaches the package indexes only, not {host[:200]}:{port}; its owner can "
        "give it the network `internet`"
    )


async def _refuse(writer: asyncio.StreamWriter, status: HTTPStatus, sentence: str) -> None:
    body = f"{sentence}\n".encode()
    head = f"HTTP/1.1 {status.value} {status.phrase}\r\nContent-Type: text/plain; charset=utf-8\r\n"
    writer.write(f"{head}Content-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode() + body)
    await writer.drain()
