"""Downloads of wheels and source archives."""

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from prime_cli.hub.dispatch import call, hub_of
from prime_cli.hub.downloads import send_file
from prime_cli.hub.routes.challenges import challenging
from prime_cli.hub.routes.reading import caller_of, ref_of
from prime_cli.hub.services import files
from prime_cli.hub.urls import FILES


async def download(request: Request) -> Response:
    params = request.path_params
    found = call(
        request,
        files.find_file,
        hub_of(request),
        caller_of(request),
        ref_of(request),
        sha256=params["sha256"],
        filename=params["filename"],
    )
    return await send_file(request, await challenging(request, found))


async def download_sources(request: Request) -> Response:
    args = hub_of(request), caller_of(request), ref_of(request)
    return await send_file(request, await call(request, files.find_sources, *args))


ROUTES = [
    Route(FILES, download),
    # Where release 0.3.9 of the official client looks, outside of the API's prefix.
    Route("/environmentshub/{owner}/{name}/@{version}/download", download_sources),
]
