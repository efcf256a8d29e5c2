"""Attempts that are counted, in the database, so that all processes of a hub count together."""

import ipaddress
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import Connection, delete, select, text

from prime_cli.core.errors import NotAllowed, NotFound, RateLimited
from prime_cli.hub.context import Hub
from prime_cli.hub.db.tables import attempts

WINDOW_SECONDS = 600
"""How long attempts are remembered, from the first one on."""

_COUNT = text(
    "INSERT INTO attempts (name, count, until) VALUES (:name, 1, :until) "
    "ON CONFLICT (name) DO UPDATE SET count = attempts.count + 1"
)


def count_attempt(hub: Hub, name: str, *, most: int) -> None:
    """Count one more under `name`; raises RateLimited above `most` in ten minutes."""
    with hub.database.read() as connection:
        _require_few(hub, connection, name, most)
    with hub.database.write() as connection:
        connection.execute(delete(attempts).where(attempts.c.until <= hub.now()))
        connection.execute(_COUNT, {"name": name, "until": hub.after(WINDOW_SECONDS)})


@contextmanager
def few_failures(hub: Hub, name: str, *, most: int) -> Iterator[None]:
    """Count what the block refuses (NotFound, NotAllowed), and nothing that succeeds.

    Raises RateLimited, without running the block, after `most` in ten minutes.
    """
    with hub.database.read() as connection:
        _require_few(hub, connection, name, most)
    try:
        yield
    except (NotFound, NotAllowed):
        count_attempt(hub, name, most=most)
        raise


def network_of(address: str) -> str:
    """What is counted as one place: an IPv4 address, or the /64 of an IPv6 one."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return "unknown"
    if parsed.version == 4:  # noqa: PLR2004 - the number of the protocol
        return str(parsed)
    return str(ipaddress.ip_network((parsed.packed, 64), strict=False))


def _require_few(hub: Hub, connection: Connection, name: str, most: int) -> None:
    counted = connection.execute(
        select(attempts.c.count.label("made"), attempts.c.until).where(
            attempts.c.name == name, attempts.c.until > hub.now()
        )
    ).one_or_none()
    if counted is not None and counted.made >= most:
        raise RateLimited(
            f"This was tried {counted.made} times in {WINDOW_SECONDS // 60} minutes, "
            "which is too often",
            hint=f"wait until {counted.until[:16].replace('T', ' ')} UTC, then try again",
        )
