"""Sockets refused at the bottom: what Python itself reports before it opens one or starts uv.

Loopback and Unix sockets are let through: they are how a run's worker reaches the gateway of its
own parent.
"""

import ipaddress
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.helpers.audited import programs_heard, sockets_heard

_NAMES = frozenset({"socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr"})
_SENDS = frozenset({"socket.connect", "socket.sendto", "socket.sendmsg"})


class Opened(Exception):
    """Somebody was about to leave this machine."""


@contextmanager
def no_connection() -> Iterator[list[str]]:
    """What was tried while the block lasted; every try fails."""
    found: list[str] = []

    def hear(event: str, arguments: tuple[Any, ...]) -> None:
        what = _leaves(event, arguments)
        if what is not None:
            found.append(what)
            raise Opened(what)

    with sockets_heard(hear), programs_heard(hear):
        yield found


def _leaves(event: str, arguments: tuple[Any, ...]) -> str | None:
    if event in _NAMES and not _is_here(arguments[0]):
        return f"{event} {arguments[0]!r}"
    if event in _SENDS:
        return _sends_away(event, *arguments)
    return _asks_uv(arguments[1]) if event == "subprocess.Popen" else None


def _sends_away(event: str, own: socket.socket, address: Any) -> str | None:
    if own.family not in (socket.AF_INET, socket.AF_INET6) or address is None:
        return None
    return None if _is_here(address[0]) else f"{event} {address!r}"


def _asks_uv(words: Sequence[Any]) -> str | None:
    """uv opens sockets of its own, but none when it is told `--offline`."""
    texts = [str(word) for word in words]
    is_uv = bool(texts) and Path(texts[0]).stem == "uv" and texts[1:] != ["--version"]
    return f"uv without --offline: {texts[1:]}" if is_uv and "--offline" not in texts else None


def _is_here(host: Any) -> bool:
    if host in (None, "", "localhost", b"localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
