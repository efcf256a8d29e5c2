"""Downloads, and the package index over HTTP."""

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from prime_cli.core.errors import NotFound
from prime_cli.core.refs import normalize_name
from prime_cli.hub import simple_index
from prime_cli.hub.dispatch import call, hub_of
from prime_cli.hub.downloads import send_file
from prime_cli.hub.routes.reading import caller_of, ref_of
from prime_cli.hub.services import files, index
from prime_cli.hub.urls import FILES
from prime_cli.wire.codec import encode


async def download(request: Request) -> Response:
    params = request.path_params
    found = await call(
        request,
        files.find_file,
        hub_of(request),
        caller_of(request),
        ref_of(request),
        sha256=params["sha256"],
        filename=params["filename"],
    )
    return await send_file(request, found)


async def download_sources(request: Request) -> Response:
    args = hub_of(request), caller_of(request), ref_of(request)
    return await send_file(request, await call(request, files.find_sources, *args))


async def owner_index(request: Request) -> Response:
    """The packages of one owner."""
    owner = request.path_params["owner"]
    args = hub_of(request), caller_of(request), owner
    return _root(request, await call(request, index.list_projects, *args))


async def package_index(request: Request) -> Response:
    """The same for one package alone."""
    ref = ref_of(request)
    await call(request, index.list_wheels, hub_of(request), caller_of(request), ref)
    return _root(request, [normalize_name(ref.name)])


async def project(request: Request) -> Response:
    """The wheels of one package; `package` is its name where the index is of one package alone."""
    ref = ref_of(request)
    name = normalize_name(ref.name)
    if normalize_name(request.path_params.get("package", name)) != name:
        raise NotFound(f"This is the index of `{name}` alone")
    wheels = await call(request, index.list_wheels, hub_of(request), caller_of(request), ref)
    if _wants_json(request):
        return _json(simple_index.project_json(name, wheels))
    return _html(simple_index.project_html(name, wheels))


def _root(request: Request, names: list[str]) -> Response:
    if _wants_json(request):
        return _json(simple_index.root_json(names))
    return _html(simple_index.root_html(names))


def _wants_json(request: Request) -> bool:
    return simple_index.JSON_TYPE in request.headers.get("accept", "")


def _json(page: dict[str, object]) -> Response:
    return Response(encode(page), media_type=simple_index.JSON_TYPE)


def _html(page: str) -> Response:
    return Response(page, media_type=simple_index.HTML_TYPE)


ROUTES = [
    Route(FILES, download),
    # Where release 0.3.9 of the official client looks, outside of the API's prefix.
    Route("/environmentshub/{owner}/{name}/@{version}/download", download_sources),
    Route("/{owner}/simple", owner_index),
    Route("/{owner}/simple/{name}", project),
    Route("/{owner}/{name}/simple", package_index),
    Route("/{owner}/{name}/simple/{package}", project),
]
