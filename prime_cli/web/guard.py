"""Who may see the pages of `prime open`: the browser that was sent there, and nobody else.

The address has a token that is good once. It becomes a cookie that no script can read and that no
other site's request carries. The Host header must name this server, since a site whose name leads
to 127.0.0.1 (DNS rebinding) would otherwise count as the same origin.
"""

import secrets
from collections.abc import Callable
from urllib.parse import parse_qsl, urlencode

from starlette.datastructures import Headers
from starlette.requests import cookie_parser
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from prime_cli.core.errors import NotAllowed, PrimeError

TOKEN = "token"  # noqa: S105 - the name of a parameter
_READING = ("GET", "HEAD")
_STYLE = "/static/"
"""What pages of prime look like, also the one that says that an address is used up."""

Refuse = Callable[[PrimeError, int], Response]


class Guard:
    """Lets requests to `hosts` through that have the cookie, or exchange `token` for it."""

    def __init__(self, app: ASGIApp, *, port: int, refuse: Refuse) -> None:
        self.app = app
        self.token = secrets.token_urlsafe(32)
        self._hosts = {f"{name}:{port}" for name in ("127.0.0.1", "localhost", "[::1]")}
        # Cookies know no ports: two of these servers may run.
        self._name = f"prime-open-{port}"
        self._session = secrets.token_urlsafe(32)
        self._unused = True
        self._refuse = refuse

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        answer = self._judge(scope)
        await (answer or self.app)(scope, receive, send)

    def _judge(self, scope: Scope) -> Response | None:
        """What a request is answered with instead of its page; None to let it through."""
        headers = Headers(scope=scope)
        if headers.get("host", "").lower() not in self._hosts:
            return self._refuse(NotAllowed("This server answers only as 127.0.0.1"), 421)
        if scope["method"] not in _READING:
            return self._refuse(NotAllowed("These pages change nothing"), 405)
        if scope["path"].startswith(_STYLE):
            return None
        query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        given = next((value for name, value in query if name == TOKEN), None)
        if self._has_cookie(headers.get("cookie", "")):
            return self._without_token(scope, query) if given is not None else None
        if given is not None and self._unused and _same(given, self.token):
            self._unused = False
            return self._admit(scope, query)
        return self._refuse(
            NotAllowed(
                "This address was used already" if given else "This page needs its whole address",
                hint="run `prime open` again, which opens it in your browser",
            ),
            403,
        )

    def _has_cookie(self, header: str) -> bool:
        # Other servers of this machine set theirs for us too, which http.cookies may not read.
        return _same(cookie_parser(header).get(self._name, ""), self._session)

    def _admit(self, scope: Scope, query: list[tuple[str, str]]) -> Response:
        answer = self._without_token(scope, query)
        answer.set_cookie(self._name, self._session, httponly=True, samesite="strict", path="/")
        return answer

    @staticmethod
    def _without_token(scope: Scope, query: list[tuple[str, str]]) -> Response:
        """The same page at an address that may be kept in the history."""
        rest = urlencode([each for each in query if each[0] != TOKEN])
        # Never another host: a path of two slashes would begin one.
        path = "/" + scope["path"].lstrip("/")
        headers = {"cache-control": "no-store", "referrer-policy": "no-referrer"}
        return RedirectResponse(path + (f"?{rest}" if rest else ""), 303, headers)


def _same(given: str, known: str) -> bool:
    return secrets.compare_digest(given.encode("utf-8", "replace"), known.encode())
