"""The proxy of sandboxes, asked by strangers."""

import asyncio
import socket
from collections.abc import Awaitable, Callable

import pytest

from prime_cli.hub.sandboxes.proxy import Proxy, is_public


class Upstream:
    """A server on loopback that answers each connection, and keeps what it was sent."""

    def __init__(self) -> None:
        self.heads: list[bytes] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.heads.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        await writer.drain()
        writer.close()


def with_proxy(
    scenario: Callable[[int, int, Upstream], Awaitable[None]], **hosts: tuple[str, ...]
) -> None:
    """Run a scenario with the ports of a proxy and of a server; `{port}` in hosts is the latter."""

    async def run() -> None:
        upstream = Upstream()
        server = await asyncio.start_server(upstream.serve, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        named = {name: tuple(each.format(port=port) for each in of) for name, of in hosts.items()}
        listener = socket.create_server(("127.0.0.1", 0))
        listener.setblocking(False)
        proxy = await Proxy(**named).listen(listener)
        async with server, proxy:
            await scenario(proxy.sockets[0].getsockname()[1], port, upstream)

    asyncio.run(run())


async def ask(port: int, head: str) -> bytes:
    """The answer to a head."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(head.encode() + b"\r\n\r\n")
    try:
        return await asyncio.wait_for(reader.read(), 10)
    except ConnectionResetError:
        return b""
    finally:
        writer.close()


def test_a_host_header_does_not_choose_another_site_of_an_index() -> None:
    async def scenario(proxy: int, port: int, upstream: Upstream) -> None:
        target = f"GET http://localhost:{port}/simple HTTP/1.1"
        assert (await ask(proxy, f"{target}\r\nHost: other.internal")).endswith(b"ok")
        assert f"Host: localhost:{port}\r\n".encode() in upstream.heads[0]
        assert b"other.internal" not in upstream.heads[0]
        assert b" 400 " in await ask(proxy, f"{target}\r\nX: y\nHost: other.internal")
        assert len(upstream.heads) == 1

    with_proxy(scenario, hosts=("localhost:{port}",))


def test_a_named_host_does_not_lead_to_this_machines_network() -> None:
    async def scenario(proxy: int, port: int, upstream: Upstream) -> None:
        for head in (
            f"CONNECT localhost:{port} HTTP/1.1",
            f"GET http://localhost:{port}/ HTTP/1.1",
        ):
            answer = await ask(proxy, head)
            assert b" 403 " in answer
            assert b"this machine's own network" in answer
        assert upstream.heads == []

    with_proxy(scenario, public_hosts=("localhost:{port}",))


def test_a_change_cuts_what_is_no_longer_allowed_and_nothing_else() -> None:
    async def scenario() -> None:
        async def hold(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.read()
            writer.close()

        kept, cut = [await asyncio.start_server(hold, "127.0.0.1", 0) for _ in range(2)]
        hosts = [f"127.0.0.1:{each.sockets[0].getsockname()[1]}" for each in (kept, cut)]
        proxy, listener = Proxy(hosts), socket.create_server(("127.0.0.1", 0))
        listener.setblocking(False)
        async with kept, cut, await proxy.listen(listener) as server:
            port, ends = server.sockets[0].getsockname()[1], []
            for host in hosts:
                reader, writer = await asyncio.open_connection("127.0.0.1", port)
                writer.write(f"CONNECT {host} HTTP/1.1\r\n\r\n".encode())
                assert b" 200 " in await reader.readuntil(b"\r\n\r\n")
                ends.append((reader, writer))
            proxy.allow(hosts[:1], ())
            assert await asyncio.wait_for(ends[1][0].read(), 10) == b""
            assert not ends[0][0].at_eof()
            assert b" 403 " in await ask(port, f"CONNECT {hosts[1]} HTTP/1.1")
            for _, writer in ends:
                writer.close()
            others = asyncio.all_tasks() - {asyncio.current_task()}
            await asyncio.gather(*others, return_exceptions=True)
            await asyncio.sleep(0)

    asyncio.run(scenario())


def test_connections_beyond_what_one_sandbox_may_have_are_closed() -> None:
    async def scenario(proxy: int, _port: int, _upstream: Upstream) -> None:
        held = [await asyncio.open_connection("127.0.0.1", proxy) for _ in range(512)]
        assert await ask(proxy, "CONNECT localhost:1 HTTP/1.1") == b""
        for _, writer in held:
            writer.close()
        await asyncio.sleep(0.2)

    with_proxy(scenario, hosts=("localhost:1",))


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("1.1.1.1", True),
        ("2606:4700::1111", True),
        ("127.0.0.1", False),
        ("10.1.2.3", False),
        ("100.64.0.1", False),
        ("169.254.169.254", False),
        ("0.0.0.0", False),
        ("224.0.0.1", False),
        ("::1", False),
        ("fd00::1", False),
        ("::ffff:127.0.0.1", False),
        ("64:ff9b::a9fe:a9fe", False),
        ("2002:7f00:1::", False),
        ("ff0e::1", False),
        ("168.63.129.16", False),  # Azure's, about the machine itself
        ("::ffff:168.63.129.16", False),
        ("fec0::1", False),
        ("64:ff9b:1::10.0.0.1", False),
        ("::10.0.0.1", False),
    ],
)
def test_only_addresses_of_the_internet_are_public(address: str, expected: bool) -> None:
    assert is_public(address) is expected
