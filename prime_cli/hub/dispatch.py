"""Run a synchronous service for an asynchronous route."""

from collections.abc import Callable
from typing import ParamSpec, TypeVar

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request

from prime_cli.hub.context import Hub

P = ParamSpec("P")
T = TypeVar("T")


def hub_of(request: Request) -> Hub:
    """The hub that the request came to."""
    hub: Hub = request.app.state.hub
    return hub


async def run(hub: Hub, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """`function(*args)`: at once when embedded, where no event loop waits; else in a thread."""
    if hub.settings.embedded:
        return function(*args, **kwargs)
    return await run_in_threadpool(function, *args, **kwargs)


async def call(request: Request, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """`run` for the hub that the request came to."""
    return await run(hub_of(request), function, *args, **kwargs)
