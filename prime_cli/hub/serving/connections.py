"""A bound on the open connections of one address, beside a server that accepts without one.

granian tells its application of requests alone, never of a connection that asks nothing. So a
thread of each worker looks at the sockets of its own process, by way of `/proc` (Linux): where an
address has too many, those that have been silent for the longest are ended.
"""

import socket
import struct
import sys
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from prime_cli.hub.services.logins import network_of
from prime_cli.hub.serving.proxies import Network, is_in, read_networks

SECONDS = 0.5
"""How long an address may have more than its share, as long as looking takes little time."""
_SHARE = 0.05
"""Of one processor's time for looking, at most."""
_SAY_SECONDS, _NAMED = 10.0, 5
_DESCRIPTORS = Path("/proc/self/fd")
_TCP_INFO = struct.Struct("=B43xI4xI")
"""Of Linux's `struct tcp_info`: the state, and the ms since data was last sent, and received."""
_NOT_ENDED_HERE = (1, 8)
"""The states of TCP before this side has ended: ESTABLISHED, CLOSE_WAIT."""


@dataclass(frozen=True)
class OpenConnection:
    """A connection of this process; `idle_ms` is since either side sent something."""

    descriptor: int
    peer: tuple[str, int]
    idle_ms: int


def watch_connections(
    port: int, most: int, proxies: Sequence[str], warn: Callable[[str], None]
) -> None:
    """Keep every address at `most` connections to `port` of this process, from now on.

    Those of the trusted `proxies` are everybody's, and are not counted; 0 is no bound. Systems
    without `/proc` have none.
    """
    if not most or sys.platform != "linux":
        return
    trusted = read_networks(proxies)

    def watch() -> None:
        ended: Counter[str] = Counter()
        said = float("-inf")
        while True:
            began = time.monotonic()
            # Without a free descriptor there is no look, this second.
            with suppress(OSError):
                ended.update(end_excess(port, most, trusted))
            if ended and began - said >= _SAY_SECONDS:
                said = began
                warn(_sentence(ended, most))
                ended.clear()
            time.sleep(max(SECONDS, (time.monotonic() - began) / _SHARE))

    threading.Thread(target=watch, name="connections", daemon=True).start()


def _sentence(ended: Counter[str], most: int) -> str:
    named = ", ".join(f"{count} of {network}" for network, count in ended.most_common(_NAMED))
    return f"Ended connections of addresses that had more than {most} at once: {named}"


def end_excess(port: int, most: int, trusted: Sequence[Network] = ()) -> dict[str, int]:
    """End what is above `most`, the longest silent first; how many, by network."""
    descriptors = [path.name for path in _DESCRIPTORS.iterdir()]
    if len(descriptors) <= most:
        return {}
    found: dict[str, list[OpenConnection]] = defaultdict(list)
    for number in descriptors:
        each = _look_at(int(number), port)
        if each is not None and not is_in(each.peer[0], trusted):
            found[network_of(each.peer[0])].append(each)
    excess = {
        network: sorted(connections, key=lambda each: each.idle_ms)[most:]
        for network, connections in found.items()
        if len(connections) > most
    }
    return {network: sum(map(_end, silent)) for network, silent in excess.items()}


def _look_at(descriptor: int, port: int) -> OpenConnection | None:
    """None for what is no connection that came to `port`, or was closed meanwhile."""
    if sys.platform != "linux":
        return None
    with suppress(OSError), _borrow(descriptor) as borrowed:
        peer = borrowed.getpeername()
        # The name of a socket of another kind, such as of two threads, is a text.
        if isinstance(peer, tuple) and borrowed.getsockname()[1] == port:
            info = borrowed.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _TCP_INFO.size)
            state, *idle_ms = _TCP_INFO.unpack(info)
            if state in _NOT_ENDED_HERE:
                return OpenConnection(descriptor, peer[:2], min(idle_ms))
    return None


def _end(connection: OpenConnection) -> bool:
    """End it, unless it has gone and its number is another's by now."""
    with suppress(OSError), _borrow(connection.descriptor) as borrowed:
        if borrowed.getpeername()[:2] == connection.peer:
            borrowed.shutdown(socket.SHUT_RDWR)
            return True
    return False


@contextmanager
def _borrow(descriptor: int) -> Iterator[socket.socket]:
    """The socket of a descriptor that is the server's: only the server may close it.

    No copy of the descriptor either: closing one of a file would end SQLite's locks on it.
    """
    # The wider family has room for the addresses of both; naming it saves asking for it.
    kind = socket.SOCK_STREAM
    borrowed = socket.socket(socket.AF_INET6, kind, socket.IPPROTO_TCP, fileno=descriptor)
    try:
        yield borrowed
    finally:
        borrowed.detach()
