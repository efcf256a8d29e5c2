"""Middleware that answers public pages and files from the cache, before routing.

It knows whether the catalog has changed: the serial says whether anything has, the stamp of a
subject whether anything about it has; who writes them is `services.audit`. Both are read after a
request has come, so that what was committed before, by whatever process, is seen.
"""

import asyncio
import logging
import sqlite3
import weakref
from http import HTTPStatus
from typing import Protocol

from sqlalchemy import Connection, text
from starlette.concurrency import run_in_threadpool
from starlette.types import ASGIApp, Receive, Scope, Send

from prime_cli.core.errors import PrimeError
from prime_cli.hub.context import Hub
from prime_cli.hub.db.engine import Database
from prime_cli.hub.db.sqlite import connect_reader
from prime_cli.hub.response_cache.requests import (
    CREDENTIALS,
    CacheAddress,
    CacheRequest,
    CacheSubject,
    find_address,
    read_cache_request,
)
from prime_cli.hub.response_cache.responses import (
    CachedResponse,
    ResponseCache,
    ResponseEntry,
    Stamp,
    pass_on,
    render,
)
from prime_cli.hub.services.access import UPSTREAM

_Row = tuple[int, int, str, int]
"""Serials of everything and of the owner, the owner's type, the environment's serial."""

_ABSENT = ""
"""The type of an owner unknown here."""

_SERIAL = "SELECT value FROM counters WHERE name = 'catalogue'"
_STAMP = """
    SELECT coalesce((SELECT value FROM counters WHERE name = 'everything'), 0),
        coalesce((SELECT serial FROM owners WHERE slug = :owner), -1),
        coalesce((SELECT type FROM owners WHERE slug = :owner), ''),
        coalesce((
            SELECT environments.serial FROM environments
            JOIN owners ON owners.id = environments.owner_id
            WHERE owners.slug = :owner AND environments.normalized_name = :name
        ), -1)
"""
_KEPT = (HTTPStatus.OK, HTTPStatus.NOT_FOUND)
_METHODS = ("GET", "HEAD")
_log = logging.getLogger(__name__)


class Serials(Protocol):
    """The serial and the stamps of a hub, now."""

    async def serial(self) -> int:
        """The serial of the catalogue."""

    async def stamp(self, subject: CacheSubject) -> Stamp | None:
        """The serials of everything and of the subject; -1 for missing ones.

        None for data of an owner on another hub, where it may change meanwhile: a mirrored owner,
        or one unknown here while there is an upstream to ask.
        """


def _open_serials(hub: Hub) -> Serials:
    """The fastest way to ask this hub's database."""
    foreign = frozenset({UPSTREAM, _ABSENT} if hub.settings.upstream else {UPSTREAM})
    if hub.database.engine.dialect.name == "sqlite":
        return SqliteSerials(hub.database, foreign)
    return PooledSerials(hub.database, foreign)


class SqliteSerials:
    """Reads SQLite directly, in the event loop: 4 us, while a thread alone takes 100."""

    def __init__(self, database: Database, foreign: frozenset[str]) -> None:
        self._foreign = foreign
        self._connection = connect_reader(database)
        weakref.finalize(self, self._connection.close)

    async def serial(self) -> int:
        rows = self._connection.execute(_SERIAL).fetchall()
        return int(rows[0][0]) if rows else 0

    async def stamp(self, subject: CacheSubject) -> Stamp | None:
        rows = self._connection.execute(
            _STAMP, {"owner": subject.owner, "name": subject.name}
        ).fetchall()
        return _as_stamp(subject, rows[0], self._foreign)


class PooledSerials:
    """Reads a server through the pool, in a thread; one query serves many requests.

    Those that come while one is under way wait for the next: it begins after all of them came.
    """

    def __init__(self, database: Database, foreign: frozenset[str]) -> None:
        self._foreign = foreign
        self._database = database
        self._next: asyncio.Future[int] | None = None
        self._asking: asyncio.Task[None] | None = None

    async def serial(self) -> int:
        if self._next is None:
            self._next = asyncio.get_running_loop().create_future()
            if self._asking is None:
                self._asking = asyncio.create_task(self._ask())
        # Shielded: one cancelled request must not cancel what others wait for.
        return await asyncio.shield(self._next)

    async def _ask(self) -> None:
        while (waited_for := self._next) is not None:
            self._next = None
            try:
                waited_for.set_result(await run_in_threadpool(self._read_serial))
            except Exception as error:  # noqa: BLE001 - whoever waits is told
                waited_for.set_exception(error)
        self._asking = None

    def _read_serial(self) -> int:
        with self._database.read() as connection:
            return int(connection.exec_driver_sql(_SERIAL).scalar() or 0)

    async def stamp(self, subject: CacheSubject) -> Stamp | None:
        return await run_in_threadpool(self._read_stamp, subject)

    def _read_stamp(self, subject: CacheSubject) -> Stamp | None:
        with self._database.read() as connection:
            return _as_stamp(subject, _read_row(connection, subject), self._foreign)


def _read_row(connection: Connection, subject: CacheSubject) -> _Row:
    values = {"owner": subject.owner, "name": subject.name}
    everything, owner, kind, environment = connection.execute(text(_STAMP), values).one()
    return everything, owner, kind, environment


def _as_stamp(subject: CacheSubject, row: _Row, foreign: frozenset[str]) -> Stamp | None:
    """An environment's own serial counts, or an owner's."""
    everything, owner, kind, environment = row
    if kind in foreign:
        return None
    return (everything, owner) if subject.name is None else (everything, environment)


class ResponseCacheMiddleware:
    """Caches responses to anonymous requests, never those to a particular caller.

    Every request reads the serial first, so an outdated page is never sent, whichever process
    changed it. Requests with credentials go on to the application, but for the index of a public
    environment, which is the same for all; their pages get an ETag all the same. For files only the
    location and headers are cached, not the bytes. For served hubs with accounts: elsewhere nobody
    is anonymous.
    """

    def __init__(self, app: ASGIApp, hub: Hub) -> None:
        self.app = app
        self.cache = ResponseCache(hub.settings.hot_page_bytes)
        self._serials = _open_serials(hub)
        self._making: dict[tuple[CacheAddress, int], asyncio.Task[CachedResponse]] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] not in _METHODS:
            await self.app(scope, receive, send)
            return
        wanted = read_cache_request(scope)
        address = find_address(scope, wanted)
        if address is None:
            await self.app(scope, receive, send)
        elif address.is_file:
            await self._send_file(scope, receive, send, address, wanted)
        else:
            page = await self._find(scope, address, wanted)
            await page.send(scope, send, wanted.if_none_match)

    async def _send_file(
        self,
        scope: Scope,
        receive: Receive,
        send: Send,
        address: CacheAddress,
        wanted: CacheRequest,
    ) -> None:
        """Send a known and existing file; the application handles all others."""
        if not (wanted.anonymous and wanted.whole):
            await self.app(scope, receive, send)
            return
        stamp = None
        try:
            page, serial = await self._look(address)
            if page is not None and page.is_there():
                await page.send(scope, send, wanted.if_none_match)
                return
            stamp = await self._serials.stamp(address.subject)
        except (sqlite3.Error, PrimeError) as error:
            _log.warning("The serial cannot be read: %s", error)
        page = await pass_on(self.app, scope, receive, send)
        if page is not None and stamp is not None:
            self.cache.put(address, ResponseEntry(page, serial, stamp))

    async def _find(
        self, scope: Scope, address: CacheAddress, wanted: CacheRequest
    ) -> CachedResponse:
        if not wanted.anonymous:
            return await self._find_public(scope, address) or await render(
                self.app, scope, packed=address.gzip, private=True
            )
        try:
            page, serial = await self._look(address)
            return page or await self._make(scope, address, serial)
        except (sqlite3.Error, PrimeError) as error:
            # The application meets the same error, and knows how to report it.
            _log.warning("The serial cannot be read: %s", error)
            return await render(self.app, scope, packed=address.gzip, private=False)

    async def _find_public(self, scope: Scope, address: CacheAddress) -> CachedResponse | None:
        """The same page for callers with credentials: the index of a public environment.

        None for what they may see more of.
        """
        if not address.is_index or address.subject.name is None:
            return None
        headers = [header for header in scope["headers"] if header[0] not in CREDENTIALS]
        page = await self._find(
            {**scope, "headers": headers}, address, read_cache_request({"headers": headers})
        )
        return page if page.status == HTTPStatus.OK else None

    async def _look(self, address: CacheAddress) -> tuple[CachedResponse | None, int]:
        """The cached page if still valid, and the current serial."""
        serial = await self._serials.serial()
        entry = self.cache.get(address)
        if entry is not None and await self._is_right(entry, address, serial):
            return entry.page, serial
        return None, serial

    async def _is_right(self, entry: ResponseEntry, address: CacheAddress, serial: int) -> bool:
        """Whether nothing has changed since, or only what the page does not show."""
        if entry.serial == serial:
            return True
        if entry.stamp != await self._serials.stamp(address.subject):
            return False
        entry.serial = serial
        return True

    async def _make(self, scope: Scope, address: CacheAddress, serial: int) -> CachedResponse:
        """The page at `serial`, rendered once for all who currently request it."""
        key = (address, serial)
        task = self._making.get(key)
        if task is None:
            task = asyncio.create_task(self._make_and_keep(scope, address, serial))
            self._making[key] = task
            task.add_done_callback(lambda _: self._making.pop(key))
        return await asyncio.shield(task)

    async def _make_and_keep(
        self, scope: Scope, address: CacheAddress, serial: int
    ) -> CachedResponse:
        stamp = await self._serials.stamp(address.subject)
        page = await render(self.app, scope, packed=address.gzip, private=False)
        if stamp is not None and page.status in _KEPT and not page.is_fleeting:
            self.cache.put(address, ResponseEntry(page, serial, stamp))
        return page
