"""Pages for browsers: what the API shows without a key."""

from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from prime_cli.core.errors import NotFound, PrimeError
from prime_cli.core.refs import LATEST
from prime_cli.hub.context import Caller
from prime_cli.hub.dispatch import call, hub_of
from prime_cli.hub.routes.requests import caller_of, ref_to_read
from prime_cli.hub.routes.responses import answer_page, answer_page_error
from prime_cli.hub.services import environments, files, version_documents, versions
from prime_cli.hub.services.environment_list import CatalogueQuery, list_environments
from prime_cli.hub.services.evaluations import history, queries, sample_queries
from prime_cli.pages.environments import render_environment, render_environments
from prime_cli.pages.evaluation import render_evaluation
from prime_cli.wire.check_reports import CheckReport
from prime_cli.wire.codec import decode

_README = "README.md"
_SAMPLES = 20
_REWARDS = 10_000


async def catalogue(request: Request) -> Response:
    """What is published; the search and the place in it are in the query."""
    search = request.query_params.get("search", "")
    cursor = request.query_params.get("cursor") or None
    query = CatalogueQuery(search=search or None, cursor=cursor)
    try:
        found = await call(request, list_environments, hub_of(request), caller_of(request), query)
    except PrimeError as error:
        return answer_page_error(error)
    return answer_page(render_environments(found, search))


async def environment(request: Request) -> Response:
    """The newest version of an environment."""
    try:
        ref = (await ref_to_read(request)).at(LATEST)
        args = hub_of(request), caller_of(request), ref
        detail = await call(request, environments.get_detail, *args)
        listed = await call(request, versions.list_versions, *args)
        sources = await call(request, files.inspect_sources, *args)
        readme = await _readme(request, *args)
        report = await _report(request, *args)
        past = await call(request, history.list_history, *args, history.HistoryQuery(limit=20))
    except PrimeError as error:
        return answer_page_error(error)
    page = render_environment(detail, listed.versions, sources.entries or [], readme, past, report)
    return answer_page(page)


async def evaluation(request: Request) -> Response:
    """The result of an evaluation, and its first samples."""
    hub, caller = hub_of(request), caller_of(request)
    wanted = request.path_params["id"]
    try:
        detail = await call(request, queries.get_evaluation, hub, caller, wanted)
        samples = await _samples(request, caller, wanted)
        spread = await call(request, sample_queries.list_rewards, hub, caller, wanted, _REWARDS)
    except PrimeError as error:
        return answer_page_error(error)
    return answer_page(render_evaluation(detail, samples, spread))


async def _readme(request: Request, *args: Any) -> str:
    try:
        found = await call(request, files.inspect_sources, *args, path=_README)
    except NotFound:
        return ""
    return found.content or ""


async def _report(request: Request, *args: Any) -> CheckReport | None:
    try:
        return await call(request, version_documents.get_report, *args)
    except NotFound:
        return None


async def _samples(request: Request, caller: Caller, wanted: str) -> list[dict[str, Any]]:
    hub = hub_of(request)
    query = sample_queries.SampleQuery(limit=_SAMPLES)
    found = await call(request, sample_queries.find_samples, hub, caller, wanted, query)
    numbers = [number for part in found.parts for number in part]
    if not numbers:
        return []
    bodies = await call(request, sample_queries.read_bodies, hub, found.evaluation_id, numbers)
    return decode(b"[" + bodies + b"]", list[dict[str, Any]])


ROUTES = [
    Route("/", catalogue),
    Route("/dashboard/environments/{owner}/{name}", environment),
    Route("/dashboard/evaluations/{id}", evaluation),
]
