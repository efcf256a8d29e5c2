"""Which hosts the environment connects to besides the gateway, from Python's audit events.

They cover Python's sockets in this process, not its child processes, nor C libraries with their own
sockets.
"""

import asyncio
import contextlib
import ipaddress
import socket
import sys
import urllib.request
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

from .channel import Events
from .failures import HostRefused, describe
from .request_identity import RolloutIdentity, current
from .rows import Row
from .sockets import FOREIGN, NOBODY, OWN, listener_on
from .v0_watch import current_unit

LOAD = "load"
ROLLOUT = "rollout"
MOST_HOSTS = 200
"""Hosts reported per phase, for environments that crawl the web."""

CONNECTING = frozenset(("socket.connect", "socket.sendto", "socket.sendmsg"))
LOOKUPS = frozenset(("socket.getaddrinfo", "socket.gethostbyname"))

Peer = tuple[str, int | None]


class NetworkWatch:
    """Reports each host once for each `phase`, from `start` on.

    These are streams to other hosts, by the name that was looked up for the address, and to servers
    of this machine that the environment has not started; with `lookups` also names that are only
    looked up, and nothing of this machine. With `refuse` all of these raise HostRefused. With
    `is_closed` this process has no network, so what it cannot reach counts as refused.
    """

    def __init__(
        self,
        events: Events,
        *,
        lookups: bool = False,
        refuse: bool = False,
        is_closed: bool = False,
    ) -> None:
        self.phase = LOAD
        self.gateway: Peer | None = None
        self._events = events
        self._lookups = lookups
        self._refuse = refuse
        self._is_closed = is_closed
        self._sent: set[tuple[str, Peer]] = set()
        self._here = {socket.gethostname(), "localhost", ""}
        self._names: dict[str, str] = {}
        self._listeners: dict[int, str] = {}
        self._refused: dict[RolloutIdentity, Peer] = {}
        self._unanswered: dict[RolloutIdentity, Peer] = {}
        self._proxies = set(_proxies())

    def start(self) -> None:
        """Install the audit hook, which cannot be removed."""
        self._remember_names()
        sys.addaudithook(self._audit)

    def mark_refused(self, rows: list[Row]) -> list[Row]:
        """Turn rows of rollouts that were refused a host into errors, even if they caught it."""
        for row in rows:
            identity = RolloutIdentity(row["example_id"], row["rollout"], row["attempt"])
            never_there = self._unanswered.pop(identity, None)
            if never_there is not None and self._listeners.get(never_there[1] or 0) != OWN:
                self._send(never_there)
                self._refused.setdefault(identity, never_there)
            peer = self._refused.pop(identity, None)
            if peer is not None:
                before = row["error"] or {}
                error = {
                    **describe(_refusal(peer), in_scoring=before.get("in_scoring", False)),
                    "traceback": before.get("traceback"),
                }
                row.update(error=error, reward=None)
        return rows

    def _audit(self, event: str, args: tuple[Any, ...]) -> None:
        if event in CONNECTING:
            peer = peer_of(event, args)
            if peer is not None and (event != "socket.connect" or _is_stream(args[0])):
                self._on_connect((self._names.get(peer[0], peer[0]), peer[1]))
        elif event in LOOKUPS and (self._lookups or self._refuse):
            peer = peer_of(event, args)
            if peer is not None:
                self._on_lookup(peer)

    def _on_lookup(self, peer: Peer) -> None:
        if not self._is_here(peer[0]):
            self._report_peer(peer)

    def _on_connect(self, peer: Peer) -> None:
        if not self._is_here(peer[0]):
            self._report_peer(peer)
        elif peer[1] is not None and not self._lookups and self._is_foreign(peer[1]):
            self._report_peer(("localhost", peer[1]))

    def _report_peer(self, peer: Peer) -> None:
        self._send(peer)
        if self._refuse:
            for identity in _current_rollouts():
                self._refused.setdefault(identity, peer)
            raise _refusal(peer)

    def _send(self, peer: Peer) -> None:
        # Other machines are identified by name, local servers by port.
        key = self.phase, (peer if peer[0] == "localhost" else (peer[0], None))
        if key in self._sent or len(self._sent) >= MOST_HOSTS:
            return
        self._sent.add(key)
        self._events.send(
            "network",
            phase=self.phase,
            host=peer[0],
            port=peer[1],
            proxy=peer in self._proxies,
            refused=self._refuse or self._is_closed,
        )

    def _is_here(self, host: str) -> bool:
        return host in self._here or is_loopback(host)

    def _is_foreign(self, port: int) -> bool:
        if self.gateway is not None and port == self.gateway[1]:
            return False
        found = self._listeners.get(port) or listener_on(port)
        if found in (OWN, FOREIGN):
            self._listeners[port] = found
        if found == NOBODY and self._refuse and self._is_closed:
            # Maybe its own server, not listening yet: decided when the rollout has ended.
            for identity in _current_rollouts():
                self._unanswered.setdefault(identity, ("localhost", port))
        return found == FOREIGN

    def _remember_names(self) -> None:
        """Record the name of each looked-up address, in the context of the caller.

        asyncio looks names up in a thread, which does not know the rollout.
        """
        look_up, look_up_later = socket.getaddrinfo, asyncio.BaseEventLoop.getaddrinfo

        def getaddrinfo(host: Any, *args: Any, **options: Any) -> Any:
            found = look_up(host, *args, **options)
            name = _peer(host, None)
            if name is not None and name[0]:
                self._names.update({str(each[4][0]): name[0] for each in found})
            return found

        async def getaddrinfo_later(loop: Any, host: Any, port: Any, **options: Any) -> Any:
            self._audit("socket.getaddrinfo", (host, port))
            return await look_up_later(loop, host, port, **options)

        socket.getaddrinfo = getaddrinfo
        asyncio.BaseEventLoop.getaddrinfo = getaddrinfo_later  # type: ignore[assignment]


def peer_of(event: str, args: tuple[Any, ...]) -> Peer | None:
    """The (host, port) of an audit event; None if it has none."""
    if event in CONNECTING:
        address = args[1] if len(args) > 1 else None
        if isinstance(address, tuple) and address:
            return _peer(address[0], address[1] if len(address) > 1 else None)
    elif event == "socket.getaddrinfo":
        return _peer(args[0], args[1])
    elif event == "socket.gethostbyname":
        return _peer(args[0], None)
    return None


def peer_of_url(url: str) -> Peer:
    """(host, port) of a URL, such as the gateway's."""
    found = urlsplit(url)
    return found.hostname or "", found.port


def is_loopback(host: str) -> bool:
    """Whether an address is this machine's own; names other than `localhost` are not resolved."""
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return host.endswith(".localhost")
    return address.is_loopback or address.is_unspecified


def _is_stream(sock: Any) -> bool:
    # Connecting a datagram socket sends nothing; programs find their own address that way.
    return getattr(sock, "type", socket.SOCK_STREAM) == socket.SOCK_STREAM


def _current_rollouts() -> list[RolloutIdentity]:
    """The current rollout, or all of a group that is scored together."""
    identity, unit = current.get(), current_unit.get()
    if identity is not None:
        return [identity]
    return [] if unit is None else unit.identities


def _refusal(peer: Peer) -> HostRefused:
    host, port = peer
    return HostRefused(
        f"the environment asked for {host if port is None else f'{host}:{port}'}, "
        "which `--only-gateway` refuses"
    )


def _proxies() -> Iterator[Peer]:
    for text in urllib.request.getproxies().values():
        with contextlib.suppress(ValueError):  # an address that is none
            url = urlsplit(text)
            host = url.hostname or ""
            yield "localhost" if is_loopback(host) else host, url.port


def _peer(host: Any, port: Any) -> Peer | None:
    if isinstance(host, (bytes, bytearray)):
        host = bytes(host).decode("ascii", "replace")
    if not isinstance(host, str):
        return None
    number = int(port) if isinstance(port, int) or str(port).isdecimal() else None
    return host.rstrip("."), number
