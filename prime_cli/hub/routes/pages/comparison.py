"""Pages that show evaluations beside each other."""

from starlette.requests import Request
from starlette.responses import Response

from prime_cli.core.errors import PrimeError, UsageError
from prime_cli.hub.dispatch import call, caller_of, hub_of, run_export
from prime_cli.hub.routes.responses import answer_page_error, show_page
from prime_cli.hub.routes.router import Router
from prime_cli.hub.services.evaluations import comparisons
from prime_cli.pages.comparison import MOST
from prime_cli.pages.evaluation_comparison import (
    CHOOSE,
    beside_page,
    choice_page,
    comparison_page,
    is_comparable,
)
from prime_cli.pages.links import COMPARISON, page_number
from prime_cli.pages.paging import find_cursor, parse_cursor
from prime_cli.runs.transcript import parse_position

router = Router()


@router.page(COMPARISON)
async def comparison(request: Request) -> Response:
    """Two to four evaluations, whose ids are in the query; of one, what to compare it with."""
    ids = _ids(request)
    if not ids or len(ids) > MOST:
        return await show_page(request, choice_page, problem=CHOOSE if ids else "")
    given, hub = request.query_params, hub_of(request)
    force, page = given.get("force") == "1", page_number(given)
    try:
        # What the caller may not see ends here, whether or not somebody else compared it before.
        found = await call(request, comparisons.get_evaluations, ids)
        if not is_comparable(len(found)):
            rows = await call(request, comparisons.list_others, found[0])
            return await show_page(request, choice_page, found, rows, "", parse_cursor(given))
        compare = comparisons.compare_evaluations
        compared = await run_export(hub, compare, hub, found, force=force)
    except PrimeError as error:
        return answer_page_error(request, error)
    return await show_page(request, comparison_page, found, compared, page=page, force=force)


@router.page(COMPARISON + "/{position}")
async def rollouts(request: Request) -> Response:
    """One rollout of an example in each evaluation, turn by turn."""
    ids = _ids(request)
    try:
        if not is_comparable(len(ids)):
            raise UsageError(CHOOSE, hint="on the tab Evaluations of an environment")
        position = parse_position(request.path_params["position"])
        found = await call(request, comparisons.get_evaluations, ids)
        hub, read = hub_of(request), comparisons.read_beside
        beside = await run_export(hub, read, hub, caller_of(request), found, *position)
        cursor = find_cursor(request.query_params)
        return await show_page(request, beside_page, found, beside, *position, cursor)
    except PrimeError as error:
        return answer_page_error(request, error)


def _ids(request: Request) -> list[str]:
    """The ids in the query, each once, in their order."""
    return list(dict.fromkeys(request.query_params.getlist("evaluation")))
