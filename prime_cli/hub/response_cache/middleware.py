"""Middleware that answers public pages and files from the cache, before routing."""

import asyncio
import logging
import sqlite3
from http import HTTPStatus

from starlette.types import ASGIApp, Receive, Scope, Send

from prime_cli.core.errors import PrimeError
from prime_cli.hub.context import Hub
from prime_cli.hub.response_cache.requests import (
    CREDENTIALS,
    CacheAddress,
    CacheRequest,
    find_address,
    read_cache_request,
)
from prime_cli.hub.response_cache.responses import (
    CachedResponse,
    ResponseCache,
    ResponseEntry,
    pass_on,
    render,
)
from prime_cli.hub.response_cache.serials import open_serials

_KEPT = (HTTPStatus.OK, HTTPStatus.NOT_FOUND)
_METHODS = ("GET", "HEAD")
_log = logging.getLogger(__name__)


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
        self._serials = open_serials(hub)
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
