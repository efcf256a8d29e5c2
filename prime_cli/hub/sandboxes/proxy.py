"""The proxy of the network `packages`: it reaches the package indexes, and nothing else.

It listens on the sandbox's own loopback and connects from here. CONNECT is for https; what is plain
http is passed on by its absolute address. A host is allowed with its port, also where it is on
loopback or the local network, as a mirror of PyPI often is.
"""

import asyncio
import socket
from contextlib import suppress
from urllib.parse import urlsplit

PROXY_PORT = 3128
"""Of the sandbox's own loopback."""

_LONGEST_HEAD = 32 * 1024
_HEAD_SECONDS = 30.0
_CONNECT_SECONDS = 20.0
_CHUNK = 1 << 16
_AT_ONCE = 64
_HOP = ("proxy-connection:", "proxy-authorization:", "connection:", "keep-alive:")
_HTTPS, _HTTP = 443, 80


def proxy_variables() -> dict[str, str]:
    """The variables by which programs find the proxy."""
    found = dict.fromkeys(("http_proxy", "https_proxy"), f"http://127.0.0.1:{PROXY_PORT}")
    found["no_proxy"] = "localhost,127.0.0.1"
    return found | {name.upper(): value for name, value in found.items()}


async def serve_proxy(listener: socket.socket, hosts: tuple[str, ...]) -> asyncio.Server:
    """Serve the sandbox that has `listener`; `hosts` are `host:port`, or `*.host:port`."""
    return await asyncio.start_server(Proxy(hosts).serve, sock=listener, limit=_LONGEST_HEAD)


class Proxy:
    """The proxy of one sandbox."""

    def __init__(self, hosts: tuple[str, ...]) -> None:
        self.hosts = frozenset(host.lower() for host in hosts)
        self._room = asyncio.Semaphore(_AT_ONCE)

    def allows(self, host: str, port: int) -> bool:
        """Whether a sandbox may connect there."""
        host = host.lower().rstrip(".")
        if f"{host}:{port}" in self.hosts:
            return True
        parts = host.split(".")
        parents = (".".join(parts[at:]) for at in range(1, len(parts)))
        return any(f"*.{parent}:{port}" in self.hosts for parent in parents)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection."""
        async with self._room:
            try:
                await self._serve(reader, writer)
            except (OSError, ValueError, TimeoutError, asyncio.IncompleteReadError):
                # A stranger's connection, which may break at any moment.
                pass
            finally:
                writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async with asyncio.timeout(_HEAD_SECONDS):
            try:
                head = await reader.readuntil(b"\r\n\r\n")
            except asyncio.LimitOverrunError:
                await _refuse(writer, "431 Request Header Fields Too Large", "The head is too long")
                return
        line, *fields = head[:-4].decode("latin-1").split("\r\n")
        method, target, version = line.split(" ", 2)
        is_tunnel = method == "CONNECT"
        parts = urlsplit(f"//{target}" if is_tunnel else target)
        host, port = parts.hostname or "", parts.port or (_HTTPS if is_tunnel else _HTTP)
        if not host or not (is_tunnel or parts.scheme == "http"):
            await _refuse(writer, "400 Bad Request", "This is a proxy: send it absolute addresses")
            return
        if not self.allows(host, port):
            await _refuse(writer, "403 Forbidden", _not_allowed(host, port))
            return
        try:
            async with asyncio.timeout(_CONNECT_SECONDS):
                upstream = await asyncio.open_connection(host, port)
        except (OSError, TimeoutError) as error:
            await _refuse(writer, "502 Bad Gateway", f"{host}:{port} does not answer: {error}")
            return
        try:
            if is_tunnel:
                writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            else:
                path = parts.path or "/"
                path += f"?{parts.query}" if parts.query else ""
                kept = [each for each in fields if not each.lower().startswith(_HOP)]
                # One request a connection: the next may be for another host.
                lines = [f"{method} {path} {version}", *kept, "Connection: close"]
                upstream[1].write("\r\n".join([*lines, "", ""]).encode("latin-1"))
            await _join((reader, writer), upstream)
        finally:
            upstream[1].close()


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


def _not_allowed(host: str, port: int) -> str:
    return (
        f"This sandbox reaches the package indexes only, not {host[:200]}:{port}; its owner can "
        "give it the network `internet`"
    )


async def _refuse(writer: asyncio.StreamWriter, status: str, sentence: str) -> None:
    body = f"{sentence}\n".encode()
    head = f"HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\n"
    writer.write(f"{head}Content-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode() + body)
    await writer.drain()
