"""The package index over HTTP: per owner, and per package (PEP 503, 691, 700, 658)."""

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from prime_cli.core.errors import BadReference, NotFound
from prime_cli.core.refs import EnvRef, normalize_name
from prime_cli.hub import simple_index
from prime_cli.hub.dispatch import call, hub_of
from prime_cli.hub.negotiation import HTML, HTML_V1, JSON_V1, choose_form
from prime_cli.hub.routes.challenges import challenging
from prime_cli.hub.routes.reading import caller_of, read_through, ref_of
from prime_cli.hub.services import index, wheel_metadata
from prime_cli.hub.slashes import asked_path
from prime_cli.hub.urls import FILES, path_of
from prime_cli.wire.codec import encode


async def owner_index(request: Request) -> Response:
    """The packages of one owner."""
    owner = request.path_params["owner"]
    if moved := _moved(request, f"/{owner}/simple/"):
        return moved
    args = hub_of(request), caller_of(request), owner
    return _root(request, await challenging(request, call(request, index.list_projects, *args)))


async def package_index(request: Request) -> Response:
    """The same for one package alone."""
    ref = _package_of(request)
    if moved := _moved(request, f"/{ref.owner}/{ref.name}/simple/"):
        return moved
    args = hub_of(request), caller_of(request), ref
    await read_through(request, ref)
    await challenging(request, call(request, index.list_wheels, *args))
    return _root(request, [normalize_name(ref.name)])


async def project(request: Request) -> Response:
    """The wheels of one package of an owner."""
    ref = _package_of(request)
    if moved := _moved(request, f"/{ref.owner}/simple/{normalize_name(ref.name)}/"):
        return moved
    return await _project(request, ref)


async def package_project(request: Request) -> Response:
    """The wheels of the only package that an index has."""
    ref = _package_of(request)
    name = normalize_name(request.path_params["package"])
    if moved := _moved(request, f"/{ref.owner}/{ref.name}/simple/{name}/"):
        return moved
    if name != normalize_name(ref.name):
        raise NotFound(f"This is the index of `{normalize_name(ref.name)}` alone")
    return await _project(request, ref)


async def metadata(request: Request) -> Response:
    """METADATA of one wheel."""
    params = request.path_params
    found = call(
        request,
        wheel_metadata.get_metadata,
        hub_of(request),
        caller_of(request),
        ref_of(request),
        sha256=params["sha256"],
        filename=params["filename"],
    )
    return Response(await challenging(request, found), media_type="text/plain")


async def _project(request: Request, ref: EnvRef) -> Response:
    args = hub_of(request), caller_of(request), ref
    await read_through(request, ref)
    wheels = await challenging(request, call(request, index.list_wheels, *args))
    name = normalize_name(ref.name)
    form = _form_of(request)
    if form == JSON_V1:
        return _json(simple_index.project_json(name, wheels))
    return _html(simple_index.project_html(name, wheels), form)


def _package_of(request: Request) -> EnvRef:
    """What the path names; raises NotFound for what cannot be one, as installers ask for much."""
    try:
        return ref_of(request)
    except BadReference as error:
        raise NotFound("There is no such package here") from error


def _moved(request: Request, path: str) -> Response | None:
    """The way to the one spelling of an address, which ends in a slash (PEP 503)."""
    if asked_path(request) == path:
        return None
    query = f"?{request.url.query}" if request.url.query else ""
    base = path_of(hub_of(request).settings.public_url)
    return RedirectResponse(base + path + query, 301)


def _root(request: Request, names: list[str]) -> Response:
    form = _form_of(request)
    if form == JSON_V1:
        return _json(simple_index.root_json(names))
    return _html(simple_index.root_html(names), form)


def _form_of(request: Request) -> str:
    accept = ",".join(request.headers.getlist("accept"))
    form = choose_form(accept, request.query_params.get("format", ""))
    if form is None:
        raise HTTPException(406, f"A page of this index is {HTML}, {HTML_V1} or {JSON_V1}")
    return form


def _json(page: dict[str, object]) -> Response:
    return Response(encode(page), media_type=JSON_V1)


def _html(page: str, form: str) -> Response:
    return Response(page, media_type=form)


ROUTES = [
    Route(FILES + simple_index.METADATA_SUFFIX, metadata),
    Route("/{owner}/simple", owner_index),
    Route("/{owner}/simple/{name}", project),
    Route("/{owner}/{name}/simple", package_index),
    Route("/{owner}/{name}/simple/{package}", package_project),
]
