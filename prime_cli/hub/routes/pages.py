"""Pages for browsers: what the API shows without a key."""

from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from prime_cli.core.errors import NotFound, PrimeError
from prime_cli.core.refs import LATEST, EnvRef
from prime_cli.hub.dispatch import call
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
from prime_cli.pages.evaluation import (
    SAMPLES_PER_PAGE,
    evaluation_page,
    sample_page,
    sample_query,
)
from prime_cli.pages.runs import RunFilter
from prime_cli.wire.check_reports import CheckReport
from prime_cli.wire.codec import decode
from prime_cli.wire.environments import EnvironmentQuery, InspectQuery
from prime_cli.wire.evaluations import HistoryQuery, SampleQuery
from prime_cli.wire.version_documents import CHECK_REPORT

router = Router()

_LAST = 2**31 - 1
_LONGEST_NUMBER = 6
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
    """The result of an evaluation, and a page of its samples."""
    evaluation_id = request.path_params["id"]
    given = request.query_params
    wanted = RunFilter(given.get("reward", ""), given.get("errors") == "1", given.get("text", ""))
    page = _page_number(given.get("page", ""))
    asked = sample_query(wanted, page)
    try:
        detail = await call(request, queries.get_evaluation, evaluation_id)
        query = asked or SampleQuery(limit=SAMPLES_PER_PAGE)
        samples = await call(request, sample_queries.list_samples, evaluation_id, query)
    except PrimeError as error:
        return answer_page_error(request, error)
    problem = "" if asked else f"`{wanted.reward}` is not a range: write >0.5, 0.2..0.8 or none"
    return answer_page(request, evaluation_page(detail, samples, wanted, page, problem))


@router.page("/dashboard/evaluations/{id}/samples/{number:int}")
async def sample(request: Request) -> Response:
    """One sample, turn by turn."""
    evaluation_id, number = request.path_params["id"], request.path_params["number"]
    try:
        detail = await call(request, queries.get_evaluation, evaluation_id)
        found = await call(request, sample_queries.read_sample, evaluation_id, min(number, _LAST))
    except PrimeError as error:
        return answer_page_error(request, error)
    line, body, total = found
    return answer_page(request, sample_page(detail, line, decode(body, dict[str, Any]), total))


def _page_number(text: str) -> int:
    """A page from 1; the first for what is no number."""
    is_number = text.isascii() and text.isdecimal() and len(text) <= _LONGEST_NUMBER
    return max(int(text), 1) if is_number else 1


async def _report(request: Request, ref: EnvRef) -> CheckReport | None:
    try:
        return await call(request, get_document, ref, CHECK_REPORT)
    except NotFound:
        return None
