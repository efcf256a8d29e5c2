"""Pages for browsers: what the API shows without a key."""

from functools import partial

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from prime_cli.core.errors import PrimeError, UsageError
from prime_cli.hub.dispatch import call, hub_of, run
from prime_cli.hub.routes.responses import answer_page_error, show_page
from prime_cli.hub.routes.router import Router
from prime_cli.hub.services.environment_pages import list_cards
from prime_cli.hub.services.evaluations import queries, sample_pages
from prime_cli.pages.assets import ASSET_HEADERS, STATIC, TEXT_HEADERS, find_asset
from prime_cli.pages.environments import CatalogueFilter, catalogue_page
from prime_cli.pages.evaluation import evaluation_page
from prime_cli.pages.links import page_number
from prime_cli.pages.paging import parse_cursor
from prime_cli.pages.run_page import Wanted
from prime_cli.pages.runs import RunFilter
from prime_cli.pages.samples import sample_page, sample_part, sample_query, sample_tokens_page
from prime_cli.runs.sample_lines import SampleLine
from prime_cli.wire.evaluations import EvaluationDetail, SampleQuery

router = Router()

_LAST = 2**31 - 1


@router.page(STATIC + "{name}")
async def static(request: Request) -> Response:
    """The style sheet and the script of all pages."""
    found = find_asset(request.path_params["name"])
    if found is None:
        raise HTTPException(404)
    return Response(found.content, headers=ASSET_HEADERS, media_type=found.media_type)


@router.page("/")
async def catalogue(request: Request) -> Response:
    """What is published; the search, the filters and the place in it are in the query."""
    names = CatalogueFilter.__struct_fields__
    given = {name: value for name, value in request.query_params.items() if name in names and value}
    filters = CatalogueFilter(**given)
    query = filters.query(request.query_params.get("cursor") or None)
    try:
        found = await call(request, list_cards, query)
    except PrimeError as error:
        return answer_page_error(request, error)
    return await show_page(request, catalogue_page, found, filters)


@router.page("/dashboard/evaluations/{id}")
async def evaluation(request: Request) -> Response:
    """The result of an evaluation, and a page of its samples."""
    evaluation_id = request.path_params["id"]
    given = request.query_params
    filters = RunFilter.read(given)
    wanted, query, problem = Wanted.read(filters, given), SampleQuery(), ""
    try:
        query = sample_query(filters)
    except UsageError as error:
        wanted, problem = Wanted(), f"{error.message} ({error.hint})"
    try:
        found = await call(request, sample_pages.read_page, evaluation_id, query, wanted)
    except PrimeError as error:
        return answer_page_error(request, error)
    return await show_page(request, evaluation_page, *found, filters, problem, given)


@router.page("/dashboard/evaluations/{id}/samples/{number:int}")
async def sample(request: Request) -> Response:
    """One sample, turn by turn."""
    try:
        found = await _sample(request)
        return await show_page(request, sample_page, *found, parse_cursor(request.query_params))
    except PrimeError as error:
        return answer_page_error(request, error)


@router.page("/dashboard/evaluations/{id}/samples/{number:int}/tokens")
async def sample_tokens(request: Request) -> Response:
    """The probabilities of a sample's tokens."""
    pointer = request.query_params.get("at", "")
    page = page_number(request.query_params)
    try:
        detail, line, content, _ = await _sample(request)
        return await show_page(request, sample_tokens_page, detail, line, content, pointer, page)
    except PrimeError as error:
        return answer_page_error(request, error)


@router.page("/dashboard/evaluations/{id}/samples/{number:int}/text")
async def sample_text(request: Request) -> Response:
    """All of a text of a sample, whose page shows the beginning."""
    given = request.query_params
    try:
        detail, line, content, _ = await _sample(request)
        make = partial(sample_part, indented=given.get("indented") == "1")
        text = await run(hub_of(request), make, detail, line, content, given.get("at", ""))
    except PrimeError as error:
        return answer_page_error(request, error)
    return Response(text, headers=TEXT_HEADERS)


async def _sample(request: Request) -> tuple[EvaluationDetail, SampleLine, bytes, int]:
    evaluation_id, number = request.path_params["id"], request.path_params["number"]
    detail = await call(request, queries.get_evaluation, evaluation_id)
    found = await call(request, sample_pages.read_sample, evaluation_id, min(number, _LAST))
    return detail, *found
