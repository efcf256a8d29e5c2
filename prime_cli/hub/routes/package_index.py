"""The package index over HTTP (PEP 503, 691, 700, 658), per owner and package, and downloads."""

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from prime_cli.core.errors import BadReference, NotFound, NotLoggedIn
from prime_cli.core.refs import EnvRef, normalize_name
from prime_cli.hub import index_pages
from prime_cli.hub.dispatch import call, hub_of, run_outside
from prime_cli.hub.downloads import send_file
from prime_cli.hub.headers import HTML, HTML_V1, JSON_V1, choose_form
from prime_cli.hub.middleware import original_path
from prime_cli.hub.routes.requests import read_through, ref_of
from prime_cli.hub.routes.responses import with_challenge
from prime_cli.hub.routes.router import Router
from prime_cli.hub.services import environments, package_index
from prime_cli.hub.services.environments import PublishedFile
from prime_cli.hub.urls import FILES, path_of
from prime_cli.wire.codec import encode

router = Router()

_UPSTREAM_HEADER = "x-prime-upstream"

# --- Index pages ---


@router.page(FILES + index_pages.METADATA_SUFFIX)
async def metadata(request: Request) -> Response:
    """METADATA of one wheel."""
    params = request.path_params
    found = call(
        request,
        package_index.get_metadata,
        ref_of(request),
        sha256=params["sha256"],
        filename=params["filename"],
    )
    return Response(await with_challenge(found), media_type="text/plain")


@router.page("/{owner}/simple")
async def owner_index(request: Request) -> Response:
    """The packages of one owner."""
    owner = request.path_params["owner"]
    if moved := _moved(request, f"/{owner}/simple/"):
        return moved
    names = await with_challenge(call(request, package_index.list_projects, owner))
    return _root(request, names)


@router.page("/{owner}/simple/{name}")
async def project(request: Request) -> Response:
    """The wheels of one package of an owner."""
    ref = _package_of(request)
    if moved := _moved(request, f"/{ref.owner}/simple/{normalize_name(ref.name)}/"):
        return moved
    return await _project(request, ref)


@router.page("/{owner}/{name}/simple")
async def one_package_index(request: Request) -> Response:
    """The same for one package alone."""
    ref = _package_of(request)
    if moved := _moved(request, f"/{ref.owner}/{ref.name}/simple/"):
        return moved
    await read_through(request, ref)
    await with_challenge(call(request, package_index.list_wheels, ref))
    return _root(request, [normalize_name(ref.name)])


@router.page("/{owner}/{name}/simple/{package}")
async def package_project(request: Request) -> Response:
    """The wheels of the only package that an index has."""
    ref = _package_of(request)
    name = normalize_name(request.path_params["package"])
    if moved := _moved(request, f"/{ref.owner}/{ref.name}/simple/{name}/"):
        return moved
    if name != normalize_name(ref.name):
        raise NotFound(f"This index has only `{normalize_name(ref.name)}`")
    return await _project(request, ref)


async def _project(request: Request, ref: EnvRef) -> Response:
    await read_through(request, ref)
    wheels = await with_challenge(call(request, package_index.list_wheels, ref))
    hub, through = hub_of(request), request.app.state.through
    listed = None if through is None else await run_outside(hub, through.wheels, hub, ref)
    if listed is not None:
        absent = package_index.wheels_to_fetch
        wheels = [*wheels, *await call(request, absent, ref, wheels, listed.wheels)]
    name = normalize_name(ref.name)
    form = _form_of(request)
    if form == JSON_V1:
        page = _json(index_pages.project_json(name, wheels))
    else:
        page = Response(index_pages.project_html(name, wheels), media_type=form)
    if listed is not None and listed.is_away:
        page.headers[_UPSTREAM_HEADER] = "unreachable; versions that it has may be missing"
    return page


def _package_of(request: Request) -> EnvRef:
    """What the path names; raises NotFound for what cannot be one, as installers ask for much."""
    try:
        return ref_of(request)
    except BadReference as error:
        raise NotFound("Package not found") from error


def _moved(request: Request, path: str) -> Response | None:
    """The way to the one spelling of an address, which ends in a slash (PEP 503)."""
    if original_path(request) == path:
        return None
    query = f"?{request.url.query}" if request.url.query else ""
    base = path_of(hub_of(request).settings.public_url)
    return RedirectResponse(base + path + query, 301)


def _root(request: Request, names: list[str]) -> Response:
    form = _form_of(request)
    if form == JSON_V1:
        return _json(index_pages.root_json(names))
    return Response(index_pages.root_html(names), media_type=form)


def _form_of(request: Request) -> str:
    accept = ",".join(request.headers.getlist("accept"))
    form = choose_form(accept, request.query_params.get("format", ""))
    if form is None:
        raise HTTPException(406, f"A page of this index is {HTML}, {HTML_V1} or {JSON_V1}")
    return form


def _json(page: dict[str, object]) -> Response:
    return Response(encode(page), media_type=JSON_V1)


# --- Downloads ---


@router.page(FILES)
async def download(request: Request) -> Response:
    params = request.path_params
    ref, filename = ref_of(request), params["filename"]

    async def find() -> PublishedFile:
        finder = environments.find_file
        return await call(request, finder, ref, sha256=params["sha256"], filename=filename)

    async def fetch() -> PublishedFile:
        """One that the index lists and its upstream still has."""
        hub, through = hub_of(request), request.app.state.through
        try:
            return await find()
        except (NotFound, NotLoggedIn):
            if through is None:
                raise
            await run_outside(hub, through.prepare_file, hub, ref, filename)
            return await find()

    return await send_file(request, await with_challenge(fetch()))


# Where release 0.3.9 of the official client looks, outside of the API's prefix.
@router.page("/environmentshub/{owner}/{name}/@{version}/download")
async def download_sources(request: Request) -> Response:
    return await send_file(request, await call(request, environments.find_sources, ref_of(request)))
