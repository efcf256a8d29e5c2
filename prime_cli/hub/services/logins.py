"""Logging in: a client shows a code, its user approves it elsewhere, the client gets a key."""

import ipaddress
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

from msgspec import Struct
from sqlalchemy import ColumnElement, Connection, Row, delete, insert, select, text, update

from prime_cli.core.errors import (
    Conflict,
    NotAllowed,
    NotFound,
    NotLoggedIn,
    PrimeError,
    RateLimited,
)
from prime_cli.hub.context import Caller, Hub
from prime_cli.hub.db.tables import attempts, challenges
from prime_cli.hub.encryption import check_public_key, encrypt_for
from prime_cli.hub.services.access import require_user
from prime_cli.hub.services.audit import record
from prime_cli.hub.services.keys import (
    READ,
    WRITE,
    create_key,
    find_caller,
    require_alive,
    seconds_until,
)
from prime_cli.hub.services.users import find_user, require_accounts
from prime_cli.hub.tokens import new_token, token_digest
from prime_cli.wire.accounts import ChallengeStatus, ChallengeTicket

# --- Attempts ---

WINDOW_SECONDS = 600
"""How long attempts are remembered, from the first one on."""

_COUNT = text(
    "INSERT INTO attempts (name, count, until) VALUES (:name, 1, :until) "
    "ON CONFLICT (name) DO UPDATE SET count = attempts.count + 1"
)


def count_attempt(hub: Hub, name: str, *, most: int) -> None:
    """Count an attempt under `name`; raises RateLimited above `most` in ten minutes."""
    with hub.database.read() as connection:
        _require_few(hub, connection, name, most)
    with hub.database.write() as connection:
        connection.execute(delete(attempts).where(attempts.c.until <= hub.now()))
        connection.execute(_COUNT, {"name": name, "until": hub.after(WINDOW_SECONDS)})


@contextmanager
def few_failures(
    hub: Hub, name: str, *, most: int, also: type[PrimeError] = NotFound
) -> Iterator[None]:
    """Count what the block refuses (NotFound, NotAllowed and `also`), but not its successes.

    Raises RateLimited, without running the block, after `most` in ten minutes.
    """
    with hub.database.read() as connection:
        _require_few(hub, connection, name, most)
    try:
        yield
    except (NotFound, NotAllowed, also):
        count_attempt(hub, name, most=most)
        raise


@lru_cache(maxsize=4096)
def network_of(address: str) -> str:
    """The network counted as one place: an IPv4 address, or the /64 of an IPv6 one."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return "unknown"
    if isinstance(parsed, ipaddress.IPv6Address):
        if parsed.ipv4_mapped is None:
            return str(ipaddress.ip_network((parsed.packed, 64), strict=False))
        # As a socket for both families writes it.
        parsed = parsed.ipv4_mapped
    return str(parsed)


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
            retry_after=seconds_until(hub, counted.until),
        )


# --- Logins ---
# The key exists in clear only in the transaction that makes it. What is stored is encrypted for the
# client that asked, and it can be fetched until the login ends.

LOGIN_SECONDS = 600
SESSION_SECONDS = 7 * 24 * 3600
"""How long a browser stays signed in."""
MOST_LOGINS = 30
"""New logins from one place in ten minutes; a whole team may share one address."""
MOST_FAILURES = 10
"""Wrong codes or keys from one place, or for one user, in ten minutes."""

_ALPHABET = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"
_CODE_LENGTH = 8


class PendingLogin(Struct, frozen=True):
    """What the approver sees of a login."""

    code: str
    address: str
    asked_at: str


def begin_login(hub: Hub, address: str, public_key: str) -> ChallengeTicket:
    """A code for a client to show; raises UsageError for a weak key, RateLimited."""
    require_accounts(hub)
    count_attempt(hub, f"login {network_of(address)}", most=MOST_LOGINS)
    check_public_key(public_key)
    return _begin(hub, address, public_key)


def begin_browser_login(hub: Hub, address: str) -> ChallengeTicket:
    """A code for a browser to show, which gets no key but a session; raises RateLimited."""
    require_accounts(hub)
    count_attempt(hub, f"login {network_of(address)}", most=MOST_LOGINS)
    return _begin(hub, address, _OF_BROWSER)


_OF_BROWSER = ""


def _begin(hub: Hub, address: str, public_key: str) -> ChallengeTicket:
    code = "".join(secrets.choice(_ALPHABET) for _ in range(_CODE_LENGTH))
    token = new_token()
    with hub.database.write() as connection:
        connection.execute(delete(challenges).where(challenges.c.expires_at <= hub.now()))
        connection.execute(
            insert(challenges).values(
                code=code,
                token_sha256=token_digest(token),
                public_key=public_key,
                address=address or "an unknown address",
                created_at=hub.now(),
                expires_at=hub.after(LOGIN_SECONDS),
            )
        )
    return ChallengeTicket(code, token)


def poll_login(hub: Hub, code: str, token: str) -> ChallengeStatus:
    """What became of a login; raises NotFound with a wrong token, as after refusal and expiry."""
    with hub.database.read() as connection:
        of_client = challenges.c.public_key != _OF_BROWSER
        return ChallengeStatus(_find_result(hub, connection, code, token, of_client))


def finish_browser_login(hub: Hub, address: str, code: str, token: str) -> str | None:
    """The id of the key that was made for a browser; None until somebody approves.

    The login ends with the answer. Raises NotFound with a wrong token, as after refusal and expiry,
    and RateLimited. Browsers ask every few seconds, so what is not approved yet is only read.
    """
    of_browser = challenges.c.public_key == _OF_BROWSER
    with few_failures(hub, place_of(address), most=MOST_FAILURES):
        with hub.database.read() as connection:
            if _find_result(hub, connection, code, token, of_browser) is None:
                return None
        with hub.database.write() as connection:
            key_id = _find_result(hub, connection, code, token, of_browser)
            connection.execute(delete(challenges).where(challenges.c.code == code))
    return key_id


def _find_result(
    hub: Hub, connection: Connection, code: str, token: str, kind: ColumnElement[bool]
) -> str | None:
    row = connection.execute(
        select(challenges.c.result).where(
            challenges.c.code == code,
            challenges.c.token_sha256 == token_digest(token),
            challenges.c.expires_at > hub.now(),
            kind,
        )
    ).one_or_none()
    if row is None:
        raise NotFound("Unknown or expired login", hint="log in again")
    return str(row.result) if row.result is not None else None


def find_login(hub: Hub, address: str, code: str) -> PendingLogin:
    """The login behind a code, for its approver; raises NotFound, RateLimited.

    `address` is that of the viewer: guessing codes is stopped.
    """
    with (
        few_failures(hub, place_of(address), most=MOST_FAILURES),
        hub.database.read() as connection,
    ):
        row = _find(hub, connection, code)
    return PendingLogin(row.code, row.address, row.created_at)


def approve_login(hub: Hub, address: str, code: str, key: str) -> str:
    """Let a client in as the user of `key`, whose slug is given.

    Its new key may write where `key` may, ends when that does and is revoked with it. Raises
    NotLoggedIn for an unknown key, NotFound for an unknown code, Conflict if already approved,
    RateLimited.
    """
    with few_failures(hub, place_of(address), most=MOST_FAILURES):
        caller = find_caller(hub, key.strip(), address=address)
        if caller is None:
            raise NotLoggedIn("Unknown or revoked API key")
        return approve_login_as(hub, caller, code)


def approve_login_as(hub: Hub, caller: Caller, code: str) -> str:
    """The same by a caller who is known, as a signed-in browser is."""
    require_user(caller)
    with few_failures(hub, f"approve {caller.slug}", most=MOST_FAILURES):
        approve_login_of(hub, caller, code, caller.slug)
    return caller.slug


def refuse_login(hub: Hub, address: str, code: str) -> None:
    """Reject an unwanted login; raises NotFound, RateLimited."""
    with (
        few_failures(hub, place_of(address), most=MOST_FAILURES),
        hub.database.write() as connection,
    ):
        row = _find(hub, connection, code)
        connection.execute(delete(challenges).where(challenges.c.code == row.code))
        record(hub, connection, Caller(address=address), "login.refuse", row.address)


def read_code(text: str) -> str:
    """A code in stored form, from a typed one: any case, with blanks or dashes."""
    return "".join(text.split()).replace("-", "").upper()


def approve_login_of(
    hub: Hub, caller: Caller, code: str, slug: str, *, seconds: float | None = None
) -> None:
    """Let a client in as the user `slug`; raises NotFound or Conflict.

    Its key ends after so many `seconds`, or with the key that the caller has; that of a browser
    after SESSION_SECONDS at the latest.
    """
    with hub.database.write() as connection:
        login = _find(hub, connection, code)
        if login.result is not None:
            raise Conflict("This login is already approved")
        user = find_user(connection, slug)
        parent = require_alive(hub, connection, caller)
        of_browser = login.public_key == _OF_BROWSER
        ends = (
            parent.expires_at if parent else None,
            hub.after(seconds) if seconds is not None else None,
            hub.after(SESSION_SECONDS) if of_browser else None,
        )
        made = create_key(
            hub,
            connection,
            user.id,
            parent=parent,
            name=f"{'browser' if of_browser else 'login'} from {login.address}",
            expires_at=min(filter(None, ends), default=None),
            **_rights(parent),
        )
        result = made.id if of_browser else encrypt_for(login.public_key, made.key)
        connection.execute(
            update(challenges)
            .where(challenges.c.code == login.code)
            .values(result=result, key_id=caller.key_id)
        )
        detail = {"key": made.id, "from": login.address, "line": made.line}
        record(hub, connection, caller, "login.approve", user.slug, **detail)


def _rights(parent: Row[Any] | None) -> dict[str, Any]:
    """The new key's rights: all those of the approving key, except managing keys."""
    if parent is None:
        return {"scope": WRITE}
    return {
        "scope": READ if parent.scope == READ else WRITE,
        "only_owner_id": parent.owner_id,
        "publishes": parent.publishes,
    }


def _find(hub: Hub, connection: Connection, code: str) -> Row[Any]:
    row = connection.execute(
        select(challenges).where(
            challenges.c.code == read_code(code), challenges.c.expires_at > hub.now()
        )
    ).one_or_none()
    if row is None:
        raise NotFound("Unknown or expired code", hint="log in again and use the new code")
    return row


def place_of(address: str) -> str:
    """Under which name wrong codes and keys from an address are counted, by `few_failures`."""
    return f"approve from {network_of(address)}"
