"""Providers by name, where the pods of each are, and the tags of what they create.

A provider with a `place` (a container engine, a server's SkyPilot) is not reached by every server
of a hub. The row of a pod or disk has the place as its `holder`, and one place has all live pods of
a provider: other servers list them from the tables, and create none.
"""

import logging
import secrets
from collections.abc import Callable
from typing import Any, TypeVar

from sqlalchemy import Connection, Row, insert, or_, select, update

from prime_cli.core.errors import Conflict, InternalError, NotAllowed, PrimeError, Unreachable
from prime_cli.hub.compute.provider import PodProvider, place_of
from prime_cli.hub.context import Hub
from prime_cli.hub.db.tables import counters, pods

T = TypeVar("T")

# --- Tags ---

_COUNTER = "hub"
_LENGTH = 12


def tag_of(prefix: str, thing_id: str) -> str:
    """`prime-1a2b3c4d-` and the first digits of an id: a name for hosts, users and clusters."""
    return f"{prefix}{thing_id[:_LENGTH]}"


def prefix_of(tag: str) -> str:
    """The prefix of a tag: of this hub, or of the hub that it was restored from."""
    prime, number, _ = tag.split("-", 2)
    return f"{prime}-{number}-"


def tag_prefix(hub: Hub) -> str:
    """The prefix of all tags of this hub, and no other: a number drawn once."""
    with hub.database.read() as connection:
        drawn = connection.execute(select(counters.c.value).where(counters.c.name == _COUNTER))
        number = drawn.scalar()
    return f"prime-{number if number is not None else _draw(hub):08x}-"


def _draw(hub: Hub) -> int:
    number = secrets.randbits(32)
    try:
        with hub.database.write() as connection:
            connection.execute(insert(counters).values(name=_COUNTER, value=number))
    except Conflict:
        # Another has drawn one meanwhile.
        with hub.database.read() as connection:
            drawn = connection.execute(select(counters.c.value).where(counters.c.name == _COUNTER))
            return int(drawn.scalar_one())
    return number


# --- Providers ---

_log = logging.getLogger(__name__)


def find_provider(hub: Hub, name: str) -> PodProvider | None:
    """The provider `name`, or None if it is not enabled."""
    return next((each for each in hub.settings.providers if each.name == name), None)


def provider_named(hub: Hub, name: str) -> PodProvider:
    """The provider `name`; raises NotAllowed if it is not enabled."""
    found = find_provider(hub, name)
    if found is None:
        raise NotAllowed(
            f"The provider `{name}` is not enabled on this hub",
            hint="ask the hub's operator to enable it; until then its pods stay as they are",
        )
    return found


def require_providers(hub: Hub) -> None:
    """Raise NotAllowed on a hub without machines."""
    if not hub.settings.providers:
        raise NotAllowed("This hub offers no machines", hint="name another with `--context`")


def ask(
    provider: PodProvider, question: Callable[[PodProvider], T], *, is_raised: bool = False
) -> T | PrimeError:
    """A provider's answer, or why there is none, which is also logged.

    One failing provider does not affect the others. A failure that `is_raised` to the reader of the
    log anyway is not logged; a bug always is.
    """
    try:
        return question(provider)
    except PrimeError as error:
        if not is_raised:
            why = f"{error.message}: {error.detail}" if error.detail else error.message
            _log.warning("The provider `%s` failed: %s", provider.name, why)
        return error
    except Exception:  # noqa: BLE001 - a bug of one provider
        _log.exception("The provider `%s` has a bug", provider.name)
        return InternalError(f"The provider `{provider.name}` failed; the hub's log says why")


# --- Places ---


def is_here(hub: Hub, row: Row[Any]) -> bool:
    """Whether this server reaches the place of a pod or disk."""
    provider = find_provider(hub, row.provider)
    return row.holder is None or (provider is not None and ask(provider, place_of) == row.holder)


def require_here(hub: Hub, row: Row[Any]) -> None:
    """Raise Unreachable for a pod or disk that only another server reaches."""
    if not is_here(hub, row):
        raise elsewhere()


def owns_pods(connection: Connection, provider: PodProvider) -> bool:
    """Whether no other place has live pods of the provider.

    True while its own place is unknown: then it cannot create any.
    """
    place = ask(provider, place_of)
    if not isinstance(place, str):
        return True
    others = pods.c.provider == provider.name, pods.c.holder != place
    live = select(pods.c.id).where(*others, pods.c.terminated_at.is_(None))
    return connection.execute(live.limit(1)).first() is None


def elsewhere() -> Unreachable:
    """The error of a server that does not have the hub's pods."""
    return Unreachable(
        "The pods of this hub are at another of its servers",
        hint="ask the hub's operator to send requests for pods and disks to that server",
    )


# --- One process at a time ---


def name_at_places(hub: Hub, name: str) -> str:
    """The name of a counter for all servers that reach the same machines."""
    places = (ask(provider, place_of) for provider in hub.settings.providers)
    return " ".join([name, *sorted(each for each in places if isinstance(each, str))])


def claim(hub: Hub, name: str, seconds: float) -> bool:
    """Whether this process should do `name` now: no server that reaches the same has for `seconds`.

    If it dies, another follows once they have passed. A time in the future was written by a wrong
    clock.
    """
    name = name_at_places(hub, name)
    now = int(hub.settings.clock().timestamp())
    due = or_(counters.c.value <= now - seconds, counters.c.value > now)
    taken = update(counters).where(counters.c.name == name, due).values(value=now)
    with hub.database.write() as connection:
        if connection.execute(taken).rowcount:
            return True
        known = connection.execute(select(counters.c.value).where(counters.c.name == name)).scalar()
        if known is None:
            connection.execute(insert(counters).values(name=name, value=now))
        return known is None
