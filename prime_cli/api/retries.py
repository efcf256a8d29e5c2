"""When a request is worth sending again, and how long to wait before."""

import random

import httpx

from prime_cli.core.retry_after import retry_after

ATTEMPTS = 3
LONGEST_WAIT = 20.0
"""Seconds; a hub that asks for more is reported instead of waited for."""

_BUSY = frozenset({429, 502, 503, 504})


def is_worth_repeating(error: httpx.TransportError, *, repeatable: bool) -> bool:
    """Whether a request that met `error` may be sent again.

    One that never reached the hub always may; one that may have arrived only if asking twice
    does no more than asking once (`repeatable`). A hub that let the time run out has had its
    chance: asking again would only triple the wait.
    """
    hopeless = isinstance(error, (httpx.TimeoutException, httpx.UnsupportedProtocol))
    return was_never_sent(error) or (repeatable and not hopeless)


def was_never_sent(error: BaseException | None) -> bool:
    """Whether a request that met `error` cannot have reached the hub."""
    return isinstance(
        error, (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.ProxyError)
    )


def wait_before_repeat(response: httpx.Response, attempt: int) -> float | None:
    """Seconds to wait before asking again, or None when the answer is to be taken as it is."""
    if response.status_code not in _BUSY:
        return None
    asked = retry_after(response.headers.get("retry-after"))
    if asked is None:
        return backoff(attempt)
    return asked if asked <= LONGEST_WAIT else None


def backoff(attempt: int) -> float:
    """Half a second, doubled each time, with jitter so that clients do not march in step."""
    return float(0.5 * 2 ** (attempt - 1) * random.uniform(0.8, 1.2))  # noqa: S311
