"""Providers by name, their failures, and the tags of what they create."""

import logging
import secrets
from collections.abc import Callable
from typing import TypeVar

from sqlalchemy import insert, select
from sqlalchemy.exc import IntegrityError as RowIsThere

from prime_cli.core.errors import InternalError, NotAllowed, PrimeError
from prime_cli.hub.compute.provider import Provider
from prime_cli.hub.context import Hub
from prime_cli.hub.db.tables import counters

# --- Tags ---

_COUNTER = "hub"
_LENGTH = 12


def tag_of(prefix: str, thing_id: str) -> str:
    """`prime-1a2b3c4d-` and the first digits of an id: a name for hosts, users and clusters."""
    return f"{prefix}{thing_id[:_LENGTH]}"


def tag_prefix(hub: Hub) -> str:
    """What all tags of this hub, and of no other, begin with: a number that it drew once."""
    with hub.database.read() as connection:
        drawn = connection.execute(select(counters.c.value).where(counters.c.name == _COUNTER))
        number = drawn.scalar()
    return f"prime-{number if number is not None else _draw(hub):08x}-"


def _draw(hub: Hub) -> int:
    number = secrets.randbits(32)
    try:
        with hub.database.write() as connection:
            connection.execute(insert(counters).values(name=_COUNTER, value=number))
    except RowIsThere:
        with hub.database.read() as connection:
            drawn = connection.execute(select(counters.c.value).where(counters.c.name == _COUNTER))
            return int(drawn.scalar_one())
    return number


# --- Providers ---

T = TypeVar("T")

_log = logging.getLogger(__name__)


def find_provider(hub: Hub, name: str) -> Provider | None:
    """The provider `name`, or None where it is not switched on (any more)."""
    return next((each for each in hub.settings.providers if each.name == name), None)


def provider_named(hub: Hub, name: str) -> Provider:
    """The same; raises NotAllowed."""
    found = find_provider(hub, name)
    if found is None:
        raise NotAllowed(
            f"The provider `{name}` is not enabled on this hub",
            hint="ask the hub's operator to enable it; until then its pods stay as they are",
        )
    return found


def require_providers(hub: Hub) -> None:
    """Raise NotAllowed on a hub that has no machines."""
    if not hub.settings.providers:
        raise NotAllowed("This hub offers no machines", hint="name another with `--context`")


def ask(
    provider: Provider, question: Callable[[Provider], T], *, is_raised: bool = False
) -> T | PrimeError:
    """What a provider answers, or why it does not, which is written to the log too.

    So that one provider that fails is not in the way of the others. A failure that `is_raised`
    anyhow, to whoever reads the log, is not told there as well; a bug always is.
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
