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

_PROVIDER_THREADS = 20
_provider_threads: RunVar[CapacityLimiter] = RunVar("prime_provider_threads")


def hub_of(request: Request) -> Hub:
    """The hub of the request."""
    hub: Hub = request.app.state.hub
    return hub


def caller_of(request: Request) -> Caller:
    """The caller of a request. Without accounts that is always the owner of this hub."""
    settings = hub_of(request).settings
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
    return await run(hub, partial(service, hub, caller_of(request), *args, **kwargs))


async def call_provider(
    request: Request,
    service: Callable[Concatenate[Hub, Caller, P], T],
    *args: P.args,
    **kwargs: P.kwargs,
) -> T:
    """`call` for services that query providers, which may take minutes to answer, or hang.

    Uses its own threads, so that waiting for providers does not block other requests.
    """
    hub = hub_of(request)
    work = partial(service, hub, caller_of(request), *args, **kwargs)
    if hub.settings.embedded:
        return work()
    return await to_thread.run_sync(work, limiter=_threads_for_providers())


def _threads_for_providers() -> CapacityLimiter:
    """The limiter of this event loop, as anyio keeps its own."""
    try:
        return _provider_threads.get()
    except LookupError:
        limiter = CapacityLimiter(_PROVIDER_THREADS)
        _provider_threads.set(limiter)
        return limiter
