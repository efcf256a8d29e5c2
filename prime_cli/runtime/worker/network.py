"""Which hosts the environment asks for, as Python's audit events say.

Seen is what goes through Python's sockets in this process: not what programs that it starts do,
nor libraries in C with sockets of their own.
"""

import ipaddress
import socket
import sys
from typing import Any

from .events import Events

LOAD = "load"
ROLLOUT = "rollout"

Peer = tuple[str, int | None]


class NetworkWatch:
    """Says each host outside this machine once for each `phase`, from `start` on."""

    def __init__(self, events: Events) -> None:
        self.phase = LOAD
        self._events = events
        self._said: set[tuple[str, str]] = set()
        self._here = {socket.gethostname(), "localhost", ""}

    def start(self) -> None:
        """Begin to watch; an audit hook cannot be taken back."""
        sys.addaudithook(self._hear)

    def _hear(self, event: str, args: tuple[Any, ...]) -> None:
        if not event.startswith("socket."):
            return
        peer = peer_of(event, args)
        if peer is None or peer[0] in self._here or is_loopback(peer[0]):
            return
        if (self.phase, peer[0]) not in self._said:
            self._said.add((self.phase, peer[0]))
            self._events.send("network", phase=self.phase, host=peer[0], port=peer[1])


def peer_of(event: str, args: tuple[Any, ...]) -> Peer | None:
    """(host, port) that an audit event is about; None where it is about no network."""
    if event in ("socket.connect", "socket.sendto", "socket.sendmsg"):
        address = args[1] if len(args) > 1 else None
        if isinstance(address, tuple) and address:
            return _peer(address[0], address[1] if len(address) > 1 else None)
    elif event == "socket.getaddrinfo":
        return _peer(args[0], args[1])
    elif event == "socket.gethostbyname":
        return _peer(args[0], None)
    return None


def is_loopback(host: str) -> bool:
    """Whether an address is this machine's own; a name other than `localhost` is not looked up."""
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return host.endswith(".localhost")
    return address.is_loopback or address.is_unspecified


def _peer(host: Any, port: Any) -> Peer | None:
    if isinstance(host, (bytes, bytearray)):
        host = bytes(host).decode("ascii", "replace")
    if not isinstance(host, str):
        return None
    number = int(port) if isinstance(port, int) or str(port).isdecimal() else None
    return host.rstrip("."), number
