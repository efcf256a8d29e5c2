"""The hub as an ASGI application: embedded in a command, or served to a team."""

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.routing import Mount

from prime_cli.core.errors import PrimeError
from prime_cli.core.paths import make_folder
from prime_cli.hub.context import Hub
from prime_cli.hub.db.schema import open_database
from prime_cli.hub.routes import accounts, environments, files, publishing
from prime_cli.hub.routes.answers import answer_http_error, answer_prime_error, answer_unexpected
from prime_cli.hub.services.index import refresh_index
from prime_cli.hub.settings import HubSettings
from prime_cli.hub.simple_tree import SimpleTree
from prime_cli.hub.slashes import IgnoreTrailingSlash
from prime_cli.hub.storage.files import FileStorage
from prime_cli.hub.urls import API


def create_app(settings: HubSettings) -> Starlette:
    """The application over the data that `settings` names; made when there is none.

    Raises StorageFailed when the data folder cannot be used.
    """
    hub = _open_hub(settings)
    refresh_index(hub)
    api = [*publishing.ROUTES, *environments.ROUTES, *accounts.ROUTES]
    app = Starlette(
        routes=[Mount(API, routes=api), *publishing.UPLOAD_ROUTES, *files.ROUTES],
        middleware=[Middleware(IgnoreTrailingSlash)],
        exception_handlers={
            PrimeError: answer_prime_error,
            HTTPException: answer_http_error,
            Exception: answer_unexpected,
        },
    )
    app.router.redirect_slashes = False
    app.state.hub = hub
    return app


def _open_hub(settings: HubSettings) -> Hub:
    make_folder(settings.data)
    database = open_database(
        settings.data / "hub.db", synchronous="NORMAL" if settings.embedded else "FULL"
    )
    files_storage = FileStorage(settings.data / "blobs")
    if settings.storage is not None:
        return Hub(settings, database, settings.storage, tree=None)
    tree = SimpleTree(settings.data / "simple", files_storage) if settings.embedded else None
    return Hub(settings, database, files_storage, tree)
