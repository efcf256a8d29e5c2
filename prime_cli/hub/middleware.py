"""Middleware of the application: authentication, and addresses with a trailing slash."""

import asyncio
import base64
import binascii
import sqlite3
import weakref
from typing import Protocol
from urllib.parse import urlencode

from sqlalchemy.dialects import sqlite
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from prime_cli.core.errors import NotAllowed, NotLoggedIn
from prime_cli.hub.browser_cookies import redirect, session_of
from prime_cli.hub.context import Caller, Hub
from prime_cli.hub.db.sqlite import connect_reader
from prime_cli.hub.dispatch import run, run_write
from prime_cli.hub.headers import BASIC_CHALLENGE
from prime_cli.hub.routes.responses import answer_page_error
from prime_cli.hub.services.access import suspension
from prime_cli.hub.services.keys import (
    find_caller,
    is_use_due,
    note_use,
    read_caller,
    select_caller,
)
from prime_cli.hub.tokens import token_digest
from prime_cli.hub.urls import API, LOGIN_PAGE, SANDBOX_GATEWAY, SESSION_PAGE, UPLOAD, is_page
from prime_cli.pages.assets import STATIC
from prime_cli.wire.codec import encode
from prime_cli.wire.invitations import JOIN_PAGE
from prime_cli.wire.problems import Problem

_GATEWAY = f"{SANDBOX_GATEWAY}/"

# --- Authentication ---


class AuthenticationMiddleware:
    """Puts the Caller of a request into its state.

    Keys come as `Authorization: Bearer KEY`, or as the user or password of Basic authentication,
    the only form package installers support (RFC 7617). An unknown key is rejected only where a
    valid one could change the answer: official clients send their key with every read, and a stale
    key must not hide public data. What is sent inside a sandbox is no key but a token, which its
    routes look up.
    """

    def __init__(self, app: ASGIApp, hub: Hub) -> None:
        self.app = app
        self._callers = open_callers(hub)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            host, _ = scope.get("client") or ("", 0)
            caller = Caller(address=host)
            if not scope["path"].startswith(_GATEWAY):
                caller = await self._caller(Headers(scope=scope), host)
            scope.setdefault("state", {})["caller"] = caller
        await self.app(scope, receive, send)

    async def _caller(self, headers: Headers, address: str) -> Caller:
        sent = headers.get("authorization", "").strip()
        for key in read_keys(sent):
            caller = await self._callers.find(key, address)
            if caller is not None:
                return caller
        # A client whose key is empty sends the scheme alone.
        return Caller(address=address, rejected=sent.lower() not in ("", "bearer", "basic"))


class MembersOnlyMiddleware:
    """Refuses callers without a key, except for what has a token of its own or leads to a key.

    Those are logins, invitations, upload URLs, and the inside of a sandbox.

    A signed-in browser sees pages; another is sent to sign in. Package indexes ask for the key as
    Basic authentication does: an installer then sends it as the password.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        answer: ASGIApp = self.app
        if scope["type"] == "http" and not _is_open(scope["path"]):
            caller, request = scope["state"]["caller"], Request(scope)
            if caller.suspended is not None:
                refused = suspension(caller.suspended)
                answer = _refuse(403, refused.message, refused.code, refused.hint)
            elif not caller.slug:
                session = await session_of(request)
                if session is None:
                    answer = _ask_for_key(request, caller)
                elif session.caller.suspended is not None:
                    answer = answer_page_error(request, suspension(session.caller.suspended))
            elif _is_forged(scope["method"], Headers(scope=scope)):
                answer = _refuse(403, "Another site sent this request", NotAllowed.code)
        await answer(scope, receive, send)


def _ask_for_key(request: Request, caller: Caller) -> Response:
    path = request.url.path
    is_browser = "text/html" in request.headers.get("accept", "")
    if request.method == "GET" and is_page(path) and is_browser:
        return redirect(f"{SESSION_PAGE}?{urlencode({'next': path})}")
    hint = "log in with `prime login`, or set PRIME_API_KEY"
    reason = ", and the API key is not valid" if caller.rejected else ""
    refusal = _refuse(401, f"This hub is for its members only{reason}", NotLoggedIn.code, hint)
    if not path.startswith(f"{API}/"):
        refusal.headers["www-authenticate"] = BASIC_CHALLENGE
    return refusal


def _is_forged(method: str, headers: Headers) -> bool:
    """Whether a browser, which adds the key that it was told once, acts for another site's page."""
    return method not in ("GET", "HEAD") and headers.get("sec-fetch-site") == "cross-site"


def _refuse(status: int, sentence: str, code: str, hint: str | None = None) -> Response:
    content = encode(Problem(detail=sentence, code=code, hint=hint))
    headers = {"cache-control": "no-store"}
    return Response(content, status, headers=headers, media_type="application/json")


_OPEN = (
    f"{API}/auth_challenge/",
    f"{API}/capabilities",
    LOGIN_PAGE,
    f"{SESSION_PAGE}/",
    UPLOAD.partition("{")[0],
    _GATEWAY,
    STATIC,
)
_OPEN_WHOLE = (
    JOIN_PAGE,
    SESSION_PAGE,
    f"{API}/invitations/show",
    f"{API}/invitations/accept",
    f"{API}/publishers/mint-key",
)


def _is_open(path: str) -> bool:
    return path.startswith(_OPEN) or path.rstrip("/") in _OPEN_WHOLE


class Callers(Protocol):
    """Finds the callers of keys, at this moment: a revoked key has none."""

    async def find(self, key: str, address: str) -> Caller | None:
        """As `find_caller`."""


def open_callers(hub: Hub) -> Callers:
    """The fastest way to ask this hub's database."""
    if hub.database.engine.dialect.name == "sqlite" and not hub.settings.embedded:
        return SqliteCallers(hub)
    return PooledCallers(hub)


class PooledCallers:
    """Asks through the pool, in a thread."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub

    async def find(self, key: str, address: str) -> Caller | None:
        return await run(self._hub, find_caller, self._hub, key, address=address)


class SqliteCallers:
    """Runs the same statement in the event loop: 40 us, while a thread and the pool take 1,600."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._pooled = PooledCallers(hub)
        self._select = str(select_caller().compile(dialect=sqlite.dialect(paramstyle="named")))
        self._connection = connect_reader(hub.database)
        self._noting: dict[str, asyncio.Task[None]] = {}
        weakref.finalize(self, self._connection.close)

    async def find(self, key: str, address: str) -> Caller | None:
        values = {"digest": token_digest(key), "now": self._hub.now()}
        try:
            rows = self._connection.execute(self._select, values).fetchall()
        except sqlite3.Error:
            # The pool meets the same error, and knows how to report it.
            return await self._pooled.find(key, address)
        caller = read_caller(rows, address)
        if caller is not None and is_use_due(self._hub, rows):
            self._note_use(rows[0]["id"])
        return caller

    def _note_use(self, key_id: str) -> None:
        """Once, and while the request goes on: it need not wait for those who write."""
        if key_id not in self._noting:
            task = asyncio.create_task(run_write(self._hub, note_use, self._hub, key_id))
            self._noting[key_id] = task
            task.add_done_callback(lambda _: self._noting.pop(key_id))


def read_keys(authorization: str) -> list[str]:
    """The possible keys in a header: none, one, or the two halves of Basic credentials."""
    scheme, _, value = authorization.partition(" ")
    if scheme.lower() == "bearer":
        return [value.strip()] if value.strip() else []
    if scheme.lower() != "basic":
        return []
    try:
        user, _, password = base64.b64decode(value, validate=True).decode().partition(":")
    except (binascii.Error, UnicodeDecodeError):
        return []
    return [key for key in (password, user) if key]


# --- Trailing slashes ---


class TrailingSlashMiddleware:
    """Strips the last slash of a path before routing.

    Clients of different releases write either, and a redirect would lose the body of a POST.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and len(scope["path"]) > 1:
            path = scope["path"]
            # Not a copy: what watches the request from outside reads the endpoint in its scope.
            scope.update(path=path.rstrip("/") or "/", original_path=path)
        await self.app(scope, receive, send)


def original_path(request: Request) -> str:
    """The path with its original trailing slash, if any."""
    return str(request.scope.get("original_path", request.url.path))
