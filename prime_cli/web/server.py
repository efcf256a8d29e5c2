"""Serve the pages on a port of this machine, until Ctrl-C, to the browser that was sent there.

Nobody else may see them. The address has a token that is good once. It becomes a cookie that no
script can read and that no other site's request carries. The Host header must name this server,
since a site whose name leads to 127.0.0.1 (DNS rebinding) would otherwise count as the same origin.
Forms, which steer runs, must come from these pages.
"""

import asyncio
import secrets
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Thread
from urllib.parse import parse_qsl, urlencode

from granian.constants import HTTPModes, Interfaces
from granian.log import LogLevels
from granian.server.embed import Server
from starlette.datastructures import Headers
from starlette.requests import cookie_parser
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from prime_cli.core.errors import NotAllowed, PrimeError
from prime_cli.hub.app import create_app
from prime_cli.hub.serving.ports import reserve_port
from prime_cli.hub.settings import HubSettings
from prime_cli.runs.comparison.compare import load_statistics
from prime_cli.web.application import NAVIGATION, READING, create_application, refuse
from prime_cli.web.library import Library
from prime_cli.web.run_view import prepare_pages

HOST = "127.0.0.1"
_GRACE_SECONDS = 2
"""How long open pages may keep us: a browser holds the events of a run that goes on."""
_LOOK_SECONDS = 0.01

_LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "handlers": {"stderr": {"class": "logging.StreamHandler", "stream": "ext://sys.stderr"}},
    "loggers": {"_granian": {"handlers": ["stderr"], "propagate": False}},
}


def serve_pages(
    library: Library,
    make_hub: Callable[[str], ASGIApp],
    path: str,
    port: int,
    announce: Callable[[str], None],
) -> None:
    """Serve until SIGINT or SIGTERM; `port` 0 is a free one.

    The pages of the runs that the library was given by name are made before they are asked for.
    `make_hub` gets the origin of the pages, and `announce` the address of `path` with its token,
    once it answers. Raises Conflict for a port in use, NotAllowed.
    """
    with reserve_port(HOST, port) as number:
        origin = f"http://{HOST}:{number}"
        pages = create_application(library, make_hub(origin))
        guard = Guard(pages, port=number, refuse=refuse)
        mark = "&" if "?" in path else "?"
        address = f"{origin}{path}{mark}{TOKEN}={guard.token}"

        def ready() -> None:
            announce(address)
            # Whatever it is at, Ctrl-C does not wait for it.
            Thread(target=_prepare, args=(library,), daemon=True).start()

        asyncio.run(_serve(guard, number, ready))


def _prepare(library: Library) -> None:
    prepare_pages(library)
    load_statistics()


def open_box(data: Path, owner: str) -> Callable[[str], ASGIApp]:
    """What opens the hub in the folder `data` for the pages of an origin."""

    def make(origin: str) -> ASGIApp:
        # The port is gone with this command, so commands to paste name the index in files.
        settings = HubSettings(data, owner, embedded=False, file_index=True, public_url=origin)
        app = create_app(settings)
        app.state.navigation = NAVIGATION
        return app

    return make


async def _serve(app: ASGIApp, port: int, ready: Callable[[], None]) -> None:
    server = Server(
        app,
        address=HOST,
        port=port,
        interface=Interfaces.ASGINL,
        http=HTTPModes.http1,
        websockets=False,
        log_level=LogLevels.error,
        log_dictconfig=_LOGGING,
    )
    server.workers_kill_timeout = _GRACE_SECONDS
    loop = asyncio.get_running_loop()

    async def announce() -> None:
        await _wait_until_listening(port)
        ready()

    announcing = loop.create_task(announce())

    def end() -> None:
        # A page that takes longer than the grace is given up, which granian reports as an error.
        loop.set_exception_handler(lambda _loop, _context: None)
        loop.call_soon(server.stop)

    try:
        with _ended_by_signals(loop, end), suppress(TimeoutError):
            await server.serve()
    finally:
        announcing.cancel()


@contextmanager
def _ended_by_signals(loop: asyncio.AbstractEventLoop, end: Callable[[], None]) -> Iterator[None]:
    """Have SIGINT and SIGTERM call `end` in the loop, which they wake."""
    before = {each: signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)}
    for each in before:
        if sys.platform == "win32":
            # Its loop is woken by every signal.
            signal.signal(each, lambda _signal, _frame: loop.call_soon_threadsafe(end))
        else:
            # By `signal.signal`, one that comes as the loop begins to wait is seen when it wakes.
            loop.add_signal_handler(each, end)
    try:
        yield
    finally:
        for each, handler in before.items():
            if sys.platform != "win32":
                loop.remove_signal_handler(each)
            signal.signal(each, handler)


async def _wait_until_listening(port: int) -> None:
    # granian's own hook of a start runs before its thread listens.
    while True:
        try:
            _, writer = await asyncio.open_connection(HOST, port)
        except ConnectionError:
            await asyncio.sleep(_LOOK_SECONDS)
        else:
            writer.close()
            return


# --- Who may see the pages ---

TOKEN = "token"  # noqa: S105 - the name of a parameter
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
        is_form = scope["method"] not in READING
        if is_form and (refused := self._refuse_foreign(scope["method"], headers)) is not None:
            return refused
        if scope["path"].startswith(_STYLE) and not is_form:
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

    def _refuse_foreign(self, method: str, headers: Headers) -> Response | None:
        """The answer to what is not a form of these pages; None for one that is."""
        if method != "POST":
            return self._refuse(NotAllowed("These pages know no such request"), 405)
        # A server on another port is the same site to a browser, which then sends the cookie too.
        if headers.get("origin", "").lower() == f"http://{headers['host']}".lower():
            return None
        return self._refuse(NotAllowed("This form is not one of these pages"), 403)

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
