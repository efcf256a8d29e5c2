"""What a sandbox of this machine reaches, which may be changed while it runs."""

import asyncio
import socket

from prime_cli.core.errors import Conflict
from prime_cli.hub.sandboxes.internet import (
    INTERNET_FACT,
    Uplink,
    connect_filtered,
    require_internet,
)
from prime_cli.hub.sandboxes.namespace import listen_inside
from prime_cli.hub.sandboxes.provider import SandboxSpec
from prime_cli.hub.sandboxes.proxy import ANY_HOST, PROXY_PORT, Proxy
from prime_cli.wire.sandboxes import INTERNET, PACKAGES


class SandboxNetwork:
    """The network of the process `pid`, which is in a namespace without any to begin with."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._proxy = Proxy()
        self._server: asyncio.Server | None = None
        self._uplink: Uplink | None = None
        self._is_closed = False

    async def apply(self, spec: SandboxSpec, listener: socket.socket | None = None) -> None:
        """Reach what `spec` names, and nothing else from now on; other connections are cut.

        `listener` is the socket of the proxy inside, if there is one already. Raises UsageError for
        what this machine lacks, and EnvironmentFailed; nothing has changed then.
        """
        if spec.network == INTERNET:
            await self._connect()
            # What was started before still asks the proxy.
            self._proxy.allow((), (ANY_HOST,))
            return
        if spec.network == PACKAGES:
            await self._serve_proxy(listener)
            self._proxy.allow(spec.hosts, spec.public_hosts)
        else:
            self._proxy.allow((), ())
        await self._disconnect()

    async def close(self) -> None:
        """Reach nothing; idempotent. A change that is under way fails."""
        self._is_closed = True
        if self._server is not None:
            self._server.close()
        self._proxy.allow((), ())
        await self._disconnect()

    async def _connect(self) -> None:
        if self._uplink is None:
            require_internet()
            uplink = await connect_filtered(self._pid)
            if self._is_closed:
                await uplink.end()
                raise _has_ended()
            self._uplink = uplink

    async def _disconnect(self) -> None:
        uplink, self._uplink = self._uplink, None
        if uplink is not None:
            await uplink.end()

    async def _serve_proxy(self, listener: socket.socket | None) -> None:
        if self._server is None:
            if listener is None:
                listener = await listen_inside(self._pid, PROXY_PORT)
            if self._is_closed:
                listener.close()
                raise _has_ended()
            try:
                self._server = await self._proxy.listen(listener)
            except BaseException:
                listener.close()
                raise


def _has_ended() -> Conflict:
    return Conflict("The sandbox has ended")


def describe_network(spec: SandboxSpec) -> str:
    """What a sandbox reaches that is held by this machine."""
    if spec.network == PACKAGES:
        return f"{', '.join(spec.reached) or 'no host'}, through a proxy"
    return INTERNET_FACT if spec.network == INTERNET else "none"
