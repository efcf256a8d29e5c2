"""The connection to one hub: every request, upload and download goes through here.

A request carries the key only if it goes to the hub's own origin (scheme, host and port) and is not
an upload, whose URL is itself a capability. Redirects are followed here, one hop at a time, so this
holds for every hop. Requests are retried where safe.
"""

import random
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from http import HTTPStatus
from typing import Any, TypeVar

import httpx
import msgspec

from prime_cli import __version__
from prime_cli.client.api import responses
from prime_cli.client.api.transports import (
    Query,
    host_of,
    next_hop,
    open_client,
    origin_of,
    parameters,
    parse_url,
    reason_of,
)
from prime_cli.core.credentials import check_key
from prime_cli.core.errors import Unreachable
from prime_cli.core.http import retry_after
from prime_cli.core.network import proxy_failure

ATTEMPTS = 3
LONGEST_WAIT = 20.0
"""Seconds; if a hub asks for a longer wait, that is reported instead."""

_BUSY = frozenset({429, 502, 503, 504})


def is_worth_repeating(error: httpx.TransportError, *, repeatable: bool) -> bool:
    """Whether a request that failed with `error` may be retried.

    One that never reached the hub always may; one that may have arrived only if it is idempotent
    (`repeatable`). After a timeout of the hub there is no retry: it would only triple the wait.
    """
    hopeless = isinstance(error, (httpx.TimeoutException, httpx.UnsupportedProtocol))
    return was_never_sent(error) or (repeatable and not hopeless)


def was_never_sent(error: BaseException | None) -> bool:
    """Whether a request that failed with `error` cannot have reached the hub."""
    return isinstance(
        error, (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.ProxyError)
    )


def wait_before_repeat(response: httpx.Response, attempt: int) -> float | None:
    """Seconds to wait before a retry, or None to accept the response as it is."""
    if response.status_code not in _BUSY:
        return None
    asked = retry_after(response.headers.get("retry-after"))
    if asked is None:
        return backoff(attempt)
    return asked if asked <= LONGEST_WAIT else None


def backoff(attempt: int) -> float:
    """Half a second, doubled each time, with jitter so that clients do not retry in lockstep."""
    return float(0.5 * 2 ** (attempt - 1) * random.uniform(0.8, 1.2))  # noqa: S311


T = TypeVar("T")
Body = msgspec.Struct | Mapping[str, Any] | bytes

API = "/api/v1"
CONNECT_SECONDS = 10.0
_ANSWER_SECONDS = 30.0
TRANSFER_SECONDS = 300.0
MOST_BYTES = 256 * 1024 * 1024
"""Maximum size of a response held in memory; files are streamed."""
_MOST_ERROR_BYTES = 1024 * 1024
_MOST_REDIRECTS = 5
_SHOWN = 15
"""Characters of a key, as lists of keys show them."""


class HubConnection:
    """Requests to one hub.

    `transport` is the way to the hub and `outside` the way to all other hosts that the hub names
    (None: sockets). Errors name the `key` with its `key_source`. `attempts` bounds how often one
    request is sent, `connect_seconds` how long a socket may take to open; `sleep` waits between
    attempts.
    """

    def __init__(
        self,
        base_url: str,
        *,
        key: str | None = None,
        key_source: str = "",
        transport: httpx.BaseTransport | None = None,
        outside: httpx.BaseTransport | None = None,
        attempts: int = ATTEMPTS,
        connect_seconds: float = CONNECT_SECONDS,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.base_url = parse_url(base_url.rstrip("/"))
        self._key = check_key(key, "the configuration") if key else None
        self._key_source = key_source
        self._transport = transport
        self._outside_transport = outside
        self._attempts = attempts
        self._timeout = httpx.Timeout(_ANSWER_SECONDS, connect=connect_seconds)
        self._sleep = sleep

    @property
    def has_key(self) -> bool:
        """Whether requests to the hub carry a key."""
        return self._key is not None

    def call(
        self,
        method: str,
        path: str,
        *,
        query: Query | None = None,
        body: Body | None = None,
        headers: Mapping[str, str] | None = None,
        seconds: float | None = None,
        repeatable: bool | None = None,
        most: int = MOST_BYTES,
        with_key: bool = True,
    ) -> "HubResponse":
        """Send a request to `path` (below /api/v1); raises the matching error on refusal.

        A `body` of bytes is already JSON; `seconds` limits the wait for the answer, `most` its size
        in bytes. `repeatable` marks the request as idempotent; GET and PUT always are.
        """
        request = self._request(
            method,
            f"{self.base_url}{API}{path}",
            query=query,
            body=body,
            headers=headers,
            with_key=with_key,
            seconds=seconds,
        )
        repeatable = method in ("GET", "PUT") if repeatable is None else repeatable
        with self._send(request, repeatable=repeatable) as response:
            return HubResponse(responses.read_whole(response, most))

    def read(self, url: str) -> httpx.Response:
        """The whole response from an absolute `url`, for a package index page."""
        with self._send(self._request("GET", url), repeatable=True) as response:
            return responses.read_whole(response, MOST_BYTES)

    @contextmanager
    def open(
        self,
        method: str,
        url: str,
        *,
        content: Iterator[bytes] | None = None,
        headers: Mapping[str, str] | None = None,
        with_key: bool = True,
    ) -> Iterator[httpx.Response]:
        """The unread response from an absolute `url`, for streamed bodies.

        A `content` is read once, so such a request is never retried here.
        """
        request = self._request(
            method,
            url,
            content=content,
            headers=headers,
            with_key=with_key,
            seconds=TRANSFER_SECONDS,
        )
        attempts = self._attempts if content is None else 1
        with self._send(request, repeatable=content is None, attempts=attempts) as response:
            yield response

    def relay(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str],
        content: Iterator[bytes] | bytes | None = None,
        with_key: bool,
        seconds: float,
    ) -> httpx.Response:
        """The unread response to somebody else's request, whatever its status; to be closed.

        It is sent once, to this `url` and no further. Raises Unreachable.
        """
        request = self._request(
            method, url, content=content, headers=headers, with_key=with_key, seconds=seconds
        )
        client = self._hub if self._is_hub(request.url) else self._outside
        with _failures(request.url):
            return client.send(request, stream=True)

    def close(self) -> None:
        """Close the open sockets."""
        for name in ("_hub", "_outside"):
            if name in self.__dict__:
                self.__dict__[name].close()

    @cached_property
    def _hub(self) -> httpx.Client:
        return open_client(self._transport, self._timeout)

    @cached_property
    def _outside(self) -> httpx.Client:
        return open_client(self._outside_transport, self._timeout)

    def _is_hub(self, url: httpx.URL) -> bool:
        return origin_of(url) == origin_of(self.base_url)

    def _request(
        self,
        method: str,
        address: str,
        *,
        query: Query | None = None,
        body: Body | None = None,
        content: Iterator[bytes] | bytes | None = None,
        headers: Mapping[str, str] | None = None,
        with_key: bool = True,
        seconds: float | None = None,
    ) -> httpx.Request:
        url = parse_url(address)
        sent = {"user-agent": f"prime/{__version__}", **(headers or {})}
        encoded = body if body is None or isinstance(body, bytes) else msgspec.json.encode(body)
        if encoded is not None:
            sent["content-type"] = "application/json"
        if with_key and self._key and self._is_hub(url):
            sent["authorization"] = f"Bearer {self._key}"
        return httpx.Request(
            method,
            url,
            params=parameters(query) if query else None,
            content=content if content is not None else encoded,
            headers=sent,
            extensions={"timeout": self._timeouts(seconds)},
        )

    def _shown_key(self, request: httpx.Request) -> str | None:
        """The key of a request for people to recognise, and its source; None if it has none."""
        if self._key is None or "authorization" not in request.headers:
            return None
        start = self._key[:_SHOWN] if len(self._key) > 2 * _SHOWN else self._key[:2]
        return f"the key `{start}…`" + (f" from {self._key_source}" if self._key_source else "")

    def _timeouts(self, seconds: float | None) -> dict[str, float | None]:
        if seconds is None:
            return self._timeout.as_dict()
        return httpx.Timeout(seconds, connect=self._timeout.connect).as_dict()

    @contextmanager
    def _send(
        self, request: httpx.Request, *, repeatable: bool, attempts: int | None = None
    ) -> Iterator[httpx.Response]:
        """The answer to `request`, unread; refusals and lost connections as errors of `core`."""
        with _failures(request.url):
            response = self._follow(
                request, repeatable=repeatable, attempts=attempts or self._attempts
            )
            try:
                if response.is_error:
                    raise responses.read_error(
                        responses.read_whole(response, _MOST_ERROR_BYTES),
                        key=self._shown_key(response.request),
                    )
                yield response
            finally:
                response.close()

    def _follow(self, request: httpx.Request, *, repeatable: bool, attempts: int) -> httpx.Response:
        for _ in range(_MOST_REDIRECTS):
            response = self._repeat(request, repeatable=repeatable, last=attempts)
            if not response.is_redirect:
                return response
            response.close()
            target = parse_url(next_hop(request.url, response.headers["location"]))
            if request.method == "GET":
                request = self._request("GET", str(target))
            elif response.status_code in _SAME_METHOD and _can_be_sent_again(request, target):
                headers = {name: request.headers[name] for name in _RESENT & set(request.headers)}
                request = httpx.Request(
                    request.method,
                    target,
                    content=request.content,
                    headers=headers,
                    extensions=request.extensions,
                )
            else:
                raise Unreachable(
                    f"{host_of(request.url)} redirected the request to {target}",
                    hint="use the hub's final URL; see `prime config show`",
                )
        raise Unreachable(f"{host_of(request.url)} redirects too many times")

    def _repeat(self, request: httpx.Request, *, repeatable: bool, last: int) -> httpx.Response:
        client = self._hub if self._is_hub(request.url) else self._outside
        for attempt in range(1, last + 1):
            wait: float | None
            try:
                response = client.send(request, stream=True)
            except httpx.TransportError as error:
                if attempt == last or not is_worth_repeating(error, repeatable=repeatable):
                    raise
                wait = backoff(attempt)
            else:
                wait = wait_before_repeat(response, attempt)
                if wait is None or attempt == last or not repeatable:
                    return response
                response.close()
            self._sleep(wait)
        raise AssertionError("the last attempt returns or raises")


_SAME_METHOD = (HTTPStatus.TEMPORARY_REDIRECT, HTTPStatus.PERMANENT_REDIRECT)
_RESENT = frozenset({"authorization", "content-type", "user-agent"})


def _can_be_sent_again(request: httpx.Request, target: httpx.URL) -> bool:
    """Whether the whole request, with its key, may go there: to the same origin, if it is whole."""
    is_whole = isinstance(request.stream, httpx.ByteStream)
    return is_whole and origin_of(target) == origin_of(request.url)


class HubResponse:
    """A hub's response, to be read as a wire struct."""

    def __init__(self, response: httpx.Response) -> None:
        self._response = response

    @property
    def body(self) -> dict[str, Any]:
        """The whole JSON object, without nulls."""
        return responses.read_body(self._response)

    def read(self, kind: type[T]) -> T:
        """The contents of the `{"data": …}` envelope as a `kind`; raises Unreachable if invalid."""
        return self.convert(responses.unwrap(self.body), kind)

    def read_exactly(self, kind: type[T]) -> T:
        """The whole body as a `kind`, for JSON whose nulls must be kept."""
        return responses.read_exactly(self._response, kind)

    def convert(self, value: Any, kind: type[T]) -> T:
        """A part of the body as a `kind`."""
        return responses.convert(self._response, value, kind)


@contextmanager
def _failures(url: httpx.URL) -> Iterator[None]:
    try:
        yield
    except httpx.TransportError as error:
        if was_never_sent(error) and (failure := proxy_failure(str(url), reason_of(error))):
            raise failure from error
        if isinstance(error, httpx.TimeoutException):
            raise Unreachable(
                f"{host_of(url)} did not answer in time",
                hint="try again, or see `prime config show`",
            ) from error
        raise Unreachable(
            f"{host_of(url)} cannot be reached: {reason_of(error)}",
            hint="check the network and the URL (`prime config show`); the built-in hub "
            "needs neither: `--context local`",
        ) from error
    except httpx.DecodingError as error:
        raise Unreachable(f"{host_of(url)} sent an invalid response: {error}") from error
