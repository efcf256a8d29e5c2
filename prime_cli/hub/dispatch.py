"""Call services for a request: with its hub and caller, in threads where an event loop waits."""

from collections.abc import Callable
from functools import partial
from typing import Concatenate, ParamSpec, TypeVar

from anyio import CapacityLimiter, to_thread
from anyio.lowlevel import RunVar
from starlette.requests import Request

from prime_cli.hub.context import Caller, Hub

P = ParamSpec("P")
T = TypeVar("T")

_OUTSIDE_THREADS = 20
_outside_threads: RunVar[CapacityLimiter] = RunVar("prime_outside_threads")
_WRITE_THREADS = 20
_write_threads: RunVar[CapacityLimiter] = RunVar("prime_write_threads")
_EXPORT_THREADS = 2
_export_threads: RunVar[CapacityLimiter] = RunVar("prime_export_threads")
_READING = ("GET", "HEAD")


def hub_of(request: Request) -> Hub:
    """The hub of the request."""
    hub: Hub = request.app.state.hub
    return hub


def caller_of(request: Request) -> Caller:
    """The caller of a request: the one user of a hub without accounts, the operator, or by key."""
    settings = hub_of(request).settings
    if settings.operated:
        return Caller.operator()
    if not settings.accounts:
        return Caller.alone(settings.owner)
    caller: Caller = request.state.caller
    return caller


async def run(hub: Hub, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """`function(*args)`: at once when embedded, where no event loop waits; else in a thread."""
    if hub.settings.embedded:
        return function(*args, **kwargs)
    return await to_thread.run_sync(partial(function, *args, **kwargs))


async def call(
    request: Request,
    service: Callable[Concatenate[Hub, Caller, P], T],
    *args: P.args,
    **kwargs: P.kwargs,
) -> T:
    """The result of a service for the hub and the caller of a request."""
    hub = hub_of(request)
    work = partial(service, hub, caller_of(request), *args, **kwargs)
    if request.method in _READING:
        return await run(hub, work)
    return await run_write(hub, work)


async def run_write(hub: Hub, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """`run` for what writes, in its own threads, so that reads need not wait while writes queue."""
    work = partial(function, *args, **kwargs)
    if hub.settings.embedded:
        return work()
    return await to_thread.run_sync(work, limiter=_limiter(_write_threads, _WRITE_THREADS))


async def call_provider(
    request: Request,
    service: Callable[Concatenate[Hub, Caller, P], T],
    *args: P.args,
    **kwargs: P.kwargs,
) -> T:
    """`call` for services that query providers."""
    hub = hub_of(request)
    return await run_outside(hub, partial(service, hub, caller_of(request), *args, **kwargs))


async def run_outside(hub: Hub, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """`run` for what asks other machines, which may take minutes to answer, or hang.

    Uses its own threads, so that waiting for them does not block other requests.
    """
    work = partial(function, *args, **kwargs)
    if hub.settings.embedded:
        return work()
    return await to_thread.run_sync(work, limiter=_limiter(_outside_threads, _OUTSIDE_THREADS))


async def run_export(hub: Hub, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """`run` for what writes whole files: a few at once, so that pages need not wait for them."""
    work = partial(function, *args, **kwargs)
    if hub.settings.embedded:
        return work()
    return await to_thread.run_sync(work, limiter=_limiter(_export_threads, _EXPORT_THREADS))


def _limiter(kept: RunVar[CapacityLimiter], threads: int) -> CapacityLimiter:
    """The limiter of this event loop, as anyio keeps its own."""
    try:
        return kept.get()
    except LookupError:
        limiter = CapacityLimiter(threads)
        kept.set(limiter)
        return limiter
