"""Bounds on connections, beside a server that accepts them and sends without any.

granian tells its application of requests alone: never of a connection that asks nothing, nor of an
answer that nobody takes. So a thread of each worker looks at the sockets of its own process, by way
of `/proc` (Linux). Where an address has too many, those that have been silent for the longest are
ended; and so are those that take too little of what waits for them.
"""

import socket
import struct
import sys
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from prime_cli.hub.services.logins import network_of
from prime_cli.hub.serving.options import MinimumRate
from prime_cli.hub.serving.proxies import Network, is_in, read_networks

SECONDS = 0.5
"""How long an address may have more than its share, as long as looking takes little time."""
_SHARE = 0.05
"""Of one processor's time for looking, at most."""
_SAY_SECONDS, _NAMED = 10.0, 5
_DESCRIPTORS = Path("/proc/self/fd")
_TCP_INFO = struct.Struct("=B43xI4xI64xQ16xI")
"""Of Linux's `struct tcp_info` (since 4.6): the state, the ms since data was last sent, and
received, the bytes that the peer has taken, and those that wait to be sent.
"""
_NOT_ENDED_HERE = (1, 8)
"""The states of TCP before this side has ended: ESTABLISHED, CLOSE_WAIT."""
_LOOKS = 3
"""How many times a slow reader is looked at before it is ended, at least."""


@dataclass(frozen=True)
class OpenConnection:
    """A connection of this process; `idle_ms` is since either side sent something.

    Its peer has `taken` bytes of this side's; `unsent` ones wait for it.
    """

    descriptor: int
    peer: tuple[str, int]
    idle_ms: int
    taken: int = 0
    unsent: int = 0


def watch_connections(
    port: int,
    most: int,
    pace: MinimumRate,
    proxies: Sequence[str],
    warn: Callable[[str], None],
) -> None:
    """Keep every address at `most` connections to `port` of this process (0 is no bound), and end
    those that take less than `pace`, from now on.

    Those of the trusted `proxies` are everybody's, and are left alone. Systems without `/proc` have
    no bounds.
    """
    if sys.platform != "linux":
        return
    trusted = read_networks(proxies)
    readers = SlowReaders(pace)
    too_many = f"Ended connections of addresses that had more than {most} at once"
    too_slow = f"Ended answers that were read slower than {pace}"

    def watch() -> None:
        ended: dict[str, Counter[str]] = {too_many: Counter(), too_slow: Counter()}
        said = looked = float("-inf")
        while True:
            began = time.monotonic()
            # Without a free descriptor there is no look, this second.
            with suppress(OSError):
                if most:
                    ended[too_many].update(end_excess(port, most, trusted))
                if began - looked >= pace.seconds / _LOOKS:
                    looked = began
                    ended[too_slow].update(readers.end(look(port, trusted)))
            if any(ended.values()) and began - said >= _SAY_SECONDS:
                said = began
                for what, whose in ended.items():
                    if whose:
                        warn(f"{what}: {_named(whose)}")
                        whose.clear()
            time.sleep(max(SECONDS, (time.monotonic() - began) / _SHARE))

    threading.Thread(target=watch, name="connections", daemon=True).start()


def _named(ended: Counter[str]) -> str:
    return ", ".join(f"{count} of {network}" for network, count in ended.most_common(_NAMED))


def end_excess(port: int, most: int, trusted: Sequence[Network] = ()) -> dict[str, int]:
    """End what is above `most`, the longest silent first; how many, by network."""
    if len(list(_DESCRIPTORS.iterdir())) <= most:
        return {}
    found: dict[str, list[OpenConnection]] = defaultdict(list)
    for each in look(port, trusted):
        found[network_of(each.peer[0])].append(each)
    excess = {
        network: sorted(connections, key=lambda each: each.idle_ms)[most:]
        for network, connections in found.items()
        if len(connections) > most
    }
    return {network: sum(map(_end, silent)) for network, silent in excess.items()}


class SlowReaders:
    """Ends connections whose peers take less than `pace` of what waits for them.

    `end` has to be called several times within the seconds of the pace: a peer that has taken all
    by the time of one of the calls begins anew.
    """

    def __init__(self, pace: MinimumRate, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._pace = pace
        self._clock = clock
        self._begun: dict[tuple[int, tuple[str, int]], tuple[float, int]] = {}

    def end(self, connections: Iterable[OpenConnection]) -> Counter[str]:
        """End the slow ones among all `connections`; how many, by network."""
        now, begun, ended = self._clock(), {}, Counter[str]()
        for each in connections:
            if not each.unsent:
                continue
            name = each.descriptor, each.peer
            at, taken = self._begun.get(name, (now, each.taken))
            if not 0 <= each.taken - taken < self._pace.bytes:
                at, taken = now, each.taken
            if now - at < self._pace.seconds:
                begun[name] = at, taken
            elif _end(each):
                ended[network_of(each.peer[0])] += 1
        self._begun = begun
        return ended


def look(port: int, trusted: Sequence[Network] = ()) -> Iterator[OpenConnection]:
    """The connections that came to `port` of this process, but for those of `trusted`."""
    for path in _DESCRIPTORS.iterdir():
        each = _look_at(int(path.name), port)
        if each is not None and not is_in(each.peer[0], trusted):
            yield each


def _look_at(descriptor: int, port: int) -> OpenConnection | None:
    """None for what is no connection that came to `port`, or was closed meanwhile."""
    if sys.platform != "linux":
        return None
    with suppress(OSError), _borrow(descriptor) as borrowed:
        peer = borrowed.getpeername()
        # The name of a socket of another kind, such as of two threads, is a text.
        if isinstance(peer, tuple) and borrowed.getsockname()[1] == port:
            info = borrowed.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _TCP_INFO.size)
            # An older kernel tells less: nothing waits, as far as is known.
            told = _TCP_INFO.unpack(info.ljust(_TCP_INFO.size, b"\0"))
            state, since_sent, since_received, taken, unsent = told
            if state in _NOT_ENDED_HERE:
                idle_ms = min(since_sent, since_received)
                return OpenConnection(descriptor, peer[:2], idle_ms, taken, unsent)
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
