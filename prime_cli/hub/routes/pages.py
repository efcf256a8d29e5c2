"""Pages for browsers: what the API shows without a key."""

from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from prime_cli.core.errors import NotFound, PrimeError
from prime_cli.core.refs import LATEST, EnvRef
from prime_cli.hub.dispatch import call, hub_of, run
from prime_cli.hub.routes.requests import ref_to_read
from prime_cli.hub.routes.responses import answer_page, answer_page_error
from prime_cli.hub.routes.router import Router
from prime_cli.hub.services import environments, versions
from prime_cli.hub.services.environment_list import list_environments
from prime_cli.hub.services.evaluations import queries, sample_queries
from prime_cli.hub.services.readmes import get_readme
from prime_cli.hub.services.version_documents import get_document
from prime_cli.pages.assets import ASSET_HEADERS, STATIC, find_asset
from prime_cli.pages.environments import catalogue_page, environment_page, file_page
from prime_cli.pages.evaluation import evaluation_page
from prime_cli.wire.check_reports import CheckReport
from prime_cli.wire.codec import decode
from prime_cli.wire.environments import EnvironmentQuery, InspectQuery
from prime_cli.wire.evaluations import HistoryQuery, SampleQuery
from prime_cli.wire.version_documents import CHECK_REPORT

router = Router()

_SAMPLES = 20
_REWARDS = 10_000
_FILE_BYTES = 256 * 1024


@router.page(STATIC + "{name}")
async def static(request: Request) -> Response:
    """The style sheet and the script of all pages."""
    found = find_asset(request.path_params["name"])
    if found is None:
        raise HTTPException(404)
    return Response(found.content, headers=ASSET_HEADERS, media_type=found.media_type)


@router.page("/")
async def catalogue(request: Request) -> Response:
    """What is published; the search and the place in it are in the query."""
    search = request.query_params.get("search", "")
    cursor = request.query_params.get("cursor") or None
    query = EnvironmentQuery(search=search or None, cursor=cursor)
    try:
        found = await call(request, list_environments, query)
    except PrimeError as error:
        return answer_page_error(request, error)
    return answer_page(request, catalogue_page(found, search))


@router.page("/dashboard/environments/{owner}/{name}")
async def environment(request: Request) -> Response:
    """The newest version of an environment."""
    try:
        ref = (await ref_to_read(request)).at(LATEST)
        detail = await call(request, environments.get_detail, ref)
        listed = await call(request, versions.list_versions, ref)
        sources = await call(request, environments.inspect_sources, ref, InspectQuery())
        readme = await call(request, get_readme, ref)
        report = await _report(request, ref)
        past = await call(request, sample_queries.list_history, ref, HistoryQuery(limit=20))
    except PrimeError as error:
        return answer_page_error(request, error)
    page = environment_page(detail, listed.versions, sources.entries or [], readme, past, report)
    return answer_page(request, page)


@router.page("/dashboard/environments/{owner}/{name}/@{version}/files/{path:path}")
async def file(request: Request) -> Response:
    """A file or folder of a version's source archive, where links of its README lead."""
    try:
        ref = await ref_to_read(request)
        detail = await call(request, environments.get_detail, ref)
        query = InspectQuery(request.path_params["path"], _FILE_BYTES)
        found = await call(request, environments.inspect_sources, ref, query)
    except PrimeError as error:
        return answer_page_error(request, error)
    return answer_page(request, file_page(detail, found))


@router.page("/dashboard/evaluations/{id}")
async def evaluation(request: Request) -> Response:
    """The result of an evaluation, and its first samples."""
    wanted = request.path_params["id"]
    try:
        detail = await call(request, queries.get_evaluation, wanted)
        samples = await _samples(request, wanted)
        spread = await call(request, sample_queries.list_rewards, wanted, _REWARDS)
    except PrimeError as error:
        return answer_page_error(request, error)
    return answer_page(request, evaluation_page(detail, samples, spread))


async def _report(request: Request, ref: EnvRef) -> CheckReport | None:
    try:
        return await call(request, get_document, ref, CHECK_REPORT)
    except NotFound:
        return None


async def _samples(request: Request, wanted: str) -> list[dict[str, Any]]:
    query = SampleQuery(limit=_SAMPLES)
    found = await call(request, sample_queries.find_samples, wanted, query)
    numbers = [number for part in found.parts for number in part]
    if not numbers:
        return []
    hub = hub_of(request)
    bodies = await run(hub, sample_queries.read_bodies, hub, found.evaluation_id, numbers)
    return decode(b"[" + bodies + b"]", list[dict[str, Any]])
