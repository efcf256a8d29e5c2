"""Sessions of browsers: what a signed-in browser may do is what its key may do, while it may.

A session begins with a key (`begin_with_key`) or with a login that somebody approves elsewhere
(`begin_with_login`). It ends when it is a week old, when it is ended, and when its key ends.
"""

import hmac

from msgspec import Struct
from sqlalchemy import Connection, bindparam, delete, insert, select

from prime_cli.core.errors import NotAllowed, NotLoggedIn
from prime_cli.hub.context import Caller, Hub
from prime_cli.hub.db.tables import browser_sessions, keys
from prime_cli.hub.services.access import require_valid_key
from prime_cli.hub.services.audit import record
from prime_cli.hub.services.key_management import CURRENT, revoke_key
from prime_cli.hub.services.keys import find_caller, read_caller, select_callers
from prime_cli.hub.services.logins import (
    MOST_FAILURES,
    SESSION_SECONDS,
    few_failures,
    finish_browser_login,
    place_of,
)
from prime_cli.hub.services.users import require_accounts
from prime_cli.hub.tokens import new_token, token_digest


class BrowserSession(Struct, frozen=True):
    """A signed-in browser: the secret of its cookie, and whom it acts for."""

    token: str
    caller: Caller
    owns_key: bool = False

    @property
    def form_token(self) -> str:
        """What every form of this browser's pages holds, which other sites cannot know."""
        return form_token_of(self.token)


def form_token_of(token: str) -> str:
    """The hidden field of the forms of a browser whose cookie has `token`."""
    return token_digest(f"form {token}")


def require_form_token(token: str, given: str) -> None:
    """Raise NotAllowed unless a form was made for the browser whose cookie has `token`."""
    if not hmac.compare_digest(form_token_of(token).encode(), given.encode()):
        raise NotAllowed(
            "This form was not made for this browser, or is too old",
            hint="go back, load the page again, and send the form once more",
        )


def begin_with_key(hub: Hub, address: str, key: str) -> str:
    """Sign a browser in with an API key; returns the secret of its cookie.

    Raises NotLoggedIn for an unknown key, NotAllowed for the key of a suspended user, RateLimited.
    """
    require_accounts(hub)
    with few_failures(hub, place_of(address), most=MOST_FAILURES):
        caller = find_caller(hub, key.strip(), address=address)
        if caller is None:
            raise NotLoggedIn("Unknown or revoked API key")
        require_valid_key(caller)
    return _begin(hub, caller)


def begin_with_login(hub: Hub, address: str, code: str, token: str) -> str | None:
    """Sign a browser in whose login somebody approved elsewhere; None until then.

    The key that was made for it ends with the session. Raises what `finish_browser_login` does.
    """
    key_id = finish_browser_login(hub, address, code, token)
    if key_id is None:
        return None
    with hub.database.read() as connection:
        caller = _find_caller(hub, connection, key_id, address)
    if caller is None:
        raise NotLoggedIn("This login has ended", hint="sign in again")
    require_valid_key(caller)
    return _begin(hub, caller, owns_key=True)


def find_session(hub: Hub, token: str, address: str = "") -> BrowserSession | None:
    """The session whose cookie has `token`; None if it or its key has ended."""
    with hub.database.read() as connection:
        row = connection.execute(
            select(browser_sessions).where(
                browser_sessions.c.sha256 == token_digest(token),
                browser_sessions.c.expires_at > hub.now(),
            )
        ).one_or_none()
        caller = _find_caller(hub, connection, row.key_id, address) if row else None
    return BrowserSession(token, caller, row.owns_key) if row and caller else None


def end_session(hub: Hub, session: BrowserSession) -> None:
    """Sign a browser out; a key that was made for it alone is revoked."""
    with hub.database.write() as connection:
        record(hub, connection, session.caller, "session.end", session.caller.slug)
        mine = browser_sessions.c.sha256 == token_digest(session.token)
        connection.execute(delete(browser_sessions).where(mine))
    if session.owns_key:
        revoke_key(hub, session.caller, CURRENT)


def _begin(hub: Hub, caller: Caller, *, owns_key: bool = False) -> str:
    token = new_token()
    with hub.database.write() as connection:
        record(hub, connection, caller, "session.begin", caller.slug)
        ended = browser_sessions.c.expires_at <= hub.now()
        connection.execute(delete(browser_sessions).where(ended))
        connection.execute(
            insert(browser_sessions).values(
                sha256=token_digest(token),
                key_id=caller.key_id,
                owns_key=owns_key,
                created_at=hub.now(),
                expires_at=hub.after(SESSION_SECONDS),
            )
        )
    return token


def _find_caller(hub: Hub, connection: Connection, key_id: str, address: str) -> Caller | None:
    """Whom a key speaks for now; None once it has ended."""
    query = select_callers().where(keys.c.id == bindparam("key_id"))
    found = connection.execute(query, {"key_id": key_id, "now": hub.now()})
    return read_caller(found.mappings().all(), address)
