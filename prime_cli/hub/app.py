"""The hub as an ASGI application: embedded in a command, or served to a team."""

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.routing import Mount

from prime_cli.core.errors import PrimeError
from prime_cli.hub.context import Hub, open_hub
from prime_cli.hub.middleware import AuthenticationMiddleware, TrailingSlashMiddleware
from prime_cli.hub.routes import (
    accounts,
    environments,
    evaluations,
    logins,
    openapi,
    package_index,
    pages,
    pods,
    publishing,
    samples,
    secrets,
    unsupported,
    versions,
)
from prime_cli.hub.routes.responses import answer_http_error, answer_prime_error, answer_unexpected
from prime_cli.hub.services.package_index import refresh_index
from prime_cli.hub.settings import HubSettings
from prime_cli.hub.upstream.read_through import ReadThrough
from prime_cli.hub.urls import API

ROUTERS = (
    publishing.router,
    environments.router,
    evaluations.router,
    samples.router,
    accounts.router,
    logins.router,
    secrets.router,
    pods.router,
    versions.router,
    pages.router,
    package_index.router,
)
"""All routes; if two match a request, the first one answers."""

OPERATIONS = tuple(operation for router in ROUTERS for operation in router.operations)
"""Everything below the API."""


def create_app(settings: HubSettings) -> Starlette:
    """The application over the data that `settings` names, creating it if needed.

    Raises StorageFailed if the data folder is unusable.
    """
    hub = open_hub(settings)
    refresh_index(hub)
    app = Starlette(
        routes=[
            Mount(API, routes=[*(each.route() for each in OPERATIONS), *unsupported.routes()]),
            *openapi.routes(OPERATIONS),
            *(page for router in ROUTERS for page in router.pages),
        ],
        middleware=_middleware(hub),
        exception_handlers={
            PrimeError: answer_prime_error,
            HTTPException: answer_http_error,
            Exception: answer_unexpected,
        },
    )
    app.router.redirect_slashes = False
    app.state.hub = hub
    app.state.through = ReadThrough(settings.upstream) if settings.upstream else None
    return app


def _middleware(hub: Hub) -> list[Middleware]:
    layers = [Middleware(TrailingSlashMiddleware)]
    if hub.settings.accounts:
        layers.insert(0, Middleware(AuthenticationMiddleware, hub=hub))
        if not hub.settings.embedded:
            # Only a served hub has an event loop, and only with accounts can callers be anonymous.
            from prime_cli.hub.response_cache.middleware import ResponseCacheMiddleware

            layers.insert(0, Middleware(ResponseCacheMiddleware, hub=hub))
    return layers
