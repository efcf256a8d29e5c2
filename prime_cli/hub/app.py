"""The hub as an ASGI application: embedded in a command, or served to a team."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, nullcontext
from dataclasses import replace
from functools import partial
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType
from typing import TYPE_CHECKING

from msgspec import structs
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.routing import Mount, Route

from prime_cli.core.errors import PrimeError
from prime_cli.hub import routes
from prime_cli.hub.context import Hub, open_hub
from prime_cli.hub.dispatch import run
from prime_cli.hub.downloads import DownloadCountMiddleware, DownloadCounts
from prime_cli.hub.identity.issuers import Issuers
from prime_cli.hub.identity.sign_in import SignInClient
from prime_cli.hub.middleware import (
    AuthenticationMiddleware,
    MembersOnlyMiddleware,
    TrailingSlashMiddleware,
)
from prime_cli.hub.routes import openapi, unsupported
from prime_cli.hub.routes.responses import answer_http_error, answer_prime_error, answer_unexpected
from prime_cli.hub.routes.router import ApiRouter, Router
from prime_cli.hub.services.package_index import refresh_index
from prime_cli.hub.settings import HubSettings
from prime_cli.hub.urls import API, SIGN_IN_RETURN

if TYPE_CHECKING:
    from prime_cli.hub.inference import Inference
    from prime_cli.hub.upstream.read_through import ReadThrough


def _find_routers(package: ModuleType) -> Iterator[Router]:
    """The `router` of every module of `package` that has one, by the module's name."""
    for each in iter_modules(package.__path__):
        router = getattr(import_module(f"{package.__name__}.{each.name}"), "router", None)
        if isinstance(router, Router):
            yield router


ROUTERS = tuple(_find_routers(routes))
"""All routes but pages; no two modules answer the same request, so their order means nothing."""


def find_page_routers() -> tuple[Router, ...]:
    """The routes of pages. Importing them takes a tenth of the time of a short command."""
    from prime_cli.hub.routes import pages

    return tuple(_find_routers(pages))


OPERATIONS = tuple(operation for router in ROUTERS for operation in router.operations)
"""Everything below the API."""


def create_app(settings: HubSettings) -> Starlette:
    """The application over the data that `settings` names, creating it if needed.

    Raises StorageFailed if the data folder is unusable.
    """
    return create_app_of(open_hub(settings))


def create_operator_app(hub: Hub) -> Starlette:
    """The API of a served `hub` for commands on its machine, to be driven without an event loop."""
    settings = replace(hub.settings, embedded=True, operated=True, pages=False)
    return create_app_of(structs.replace(hub, settings=settings))


def create_app_of(hub: Hub) -> Starlette:
    """The application of an open hub."""
    settings = hub.settings
    refresh_index(hub)
    models, model_routes = _open_models(settings)
    counts = DownloadCounts(hub)
    routers = ROUTERS + (find_page_routers() if settings.pages else ())
    app = Starlette(
        lifespan=partial(_lifespan, models=models, counts=counts),
        routes=[
            Mount(
                API,
                ApiRouter(
                    [
                        *(each.route() for each in OPERATIONS),
                        *model_routes,
                        *unsupported.routes(has_models=models is not None),
                    ]
                ),
            ),
            *openapi.routes(OPERATIONS),
            *(page for router in routers for page in router.pages),
        ],
        middleware=_middleware(hub, counts),
        exception_handlers={
            PrimeError: answer_prime_error,
            HTTPException: answer_http_error,
            Exception: answer_unexpected,
        },
    )
    app.router.redirect_slashes = False
    app.state.hub = hub
    app.state.models = models
    issuers = Issuers(settings.fetch, settings.clock) if settings.fetch else None
    app.state.issuers = issuers
    app.state.sign_in = _open_sign_in(settings, issuers)
    app.state.through = _open_upstream(settings)
    return app


@asynccontextmanager
async def _lifespan(
    _: Starlette, *, models: "Inference | None", counts: DownloadCounts
) -> AsyncIterator[None]:
    async with models.open() if models else nullcontext():
        yield
    await run(counts.hub, counts.flush)


def _open_sign_in(settings: HubSettings, issuers: Issuers | None) -> SignInClient | None:
    """What signs users in with the hub's provider, if it has one."""
    if settings.sign_in is None or issuers is None:
        return None
    return SignInClient(settings, issuers, settings.public_url + SIGN_IN_RETURN)


def _open_upstream(settings: HubSettings) -> "ReadThrough | None":
    """What fetches from the hub upstream of this one, if it has one; an embedded hub has none."""
    if settings.upstream is None:
        return None
    from prime_cli.hub.upstream.read_through import ReadThrough

    return ReadThrough(settings.upstream)


def _open_models(settings: HubSettings) -> "tuple[Inference | None, list[Route]]":
    """The models that the hub serves, and their routes.

    Raises NotFound or UsageError for a registry that is missing or wrong.
    """
    if settings.endpoints is None:
        return None, []
    # The libraries of the gateway, for hubs that serve models.
    from prime_cli.hub import inference
    from prime_cli.models.price_book import load_prices
    from prime_cli.models.registry import load_registry

    models = inference.Inference(
        load_registry(settings.endpoints, settings.endpoints.parent), load_prices()
    )
    return models, inference.routes(models)


def _middleware(hub: Hub, counts: DownloadCounts) -> list[Middleware]:
    layers = [Middleware(TrailingSlashMiddleware)]
    if hub.settings.accounts and not hub.settings.operated:
        if hub.settings.members_only:
            layers.insert(0, Middleware(MembersOnlyMiddleware))
        layers.insert(0, Middleware(AuthenticationMiddleware, hub=hub))
        if not (hub.settings.embedded or hub.settings.members_only):
            # Only a served hub has an event loop, and only with accounts can callers be anonymous.
            from prime_cli.hub.response_cache.middleware import ResponseCacheMiddleware

            layers.insert(0, Middleware(ResponseCacheMiddleware, hub=hub))
    # Around the cache, which sends files too.
    layers.insert(0, Middleware(DownloadCountMiddleware, counts=counts))
    return layers
