"""Pages of one environment for browsers: its tabs, and the files of its versions."""

from starlette.requests import Request
from starlette.responses import Response

from prime_cli.core.errors import NotFound, PrimeError, TooLarge
from prime_cli.core.refs import LATEST, EnvRef
from prime_cli.hub.context import Hub
from prime_cli.hub.dispatch import call, hub_of, run_export
from prime_cli.hub.routes.requests import read_through, ref_to_read
from prime_cli.hub.routes.responses import answer_page_error, show_page
from prime_cli.hub.routes.router import Router
from prime_cli.hub.services import environments, versions
from prime_cli.hub.services.environment_pages import compare_versions, read_source
from prime_cli.hub.services.evaluations.comparisons import compare_neighbours
from prime_cli.hub.services.evaluations.leaderboard import read_leaderboard
from prime_cli.hub.services.readmes import get_readme
from prime_cli.hub.services.version_documents import get_document
from prime_cli.pages.assets import TEXT_HEADERS
from prime_cli.pages.details import details_page
from prime_cli.pages.environment import file_page, readme_page
from prime_cli.pages.leaderboard import LeaderboardPage, Neighbours, leaderboard_page
from prime_cli.pages.paging import parse_cursor
from prime_cli.pages.versions import LIST, VersionPair, versions_page
from prime_cli.wire.environment_sources import InspectQuery
from prime_cli.wire.evaluations import HistoryQuery
from prime_cli.wire.version_documents import CHECK_REPORT, LOCK, SIGNATURES, D, DocumentKind

router = Router()

_FILE_BYTES = 256 * 1024
_RAW_BYTES = 8 * 1024 * 1024
_LONGEST = 100
"""Characters of a version in a query."""
_PATH = "/dashboard/environments/{owner}/{name}"


@router.page(_PATH)
@router.page(_PATH + "/@{version}")
async def readme(request: Request) -> Response:
    """The README of a version, and how to install and run it."""
    try:
        ref = await _ref(request)
        detail = await call(request, environments.get_page_detail, ref)
        html = await call(request, get_readme, ref)
    except PrimeError as error:
        return answer_page_error(request, error)
    return await show_page(request, readme_page, detail, html, parse_cursor(request.query_params))


@router.page(_PATH + "/@{version}/files")
@router.page(_PATH + "/@{version}/files/{path:path}")
async def file(request: Request) -> Response:
    """A file or folder of a version's source archive, where links of its README lead."""
    try:
        ref = await _ref(request)
        detail = await call(request, environments.get_page_detail, ref)
        query = InspectQuery(request.path_params.get("path", ""), _FILE_BYTES)
        found = await call(request, environments.inspect_sources, ref, query)
    except PrimeError as error:
        return answer_page_error(request, error)
    return await show_page(request, file_page, detail, found, parse_cursor(request.query_params))


@router.page(_PATH + "/@{version}/raw/{path:path}")
async def raw(request: Request) -> Response:
    """All of a file, whose page shows a part at a time."""
    path = request.path_params["path"]
    try:
        ref = await _ref(request)
        query = InspectQuery(path, _RAW_BYTES)
        found = await call(request, environments.inspect_sources, ref, query)
        if found.content is None:
            raise NotFound(f"`{path[:200]}` is a folder of `{ref.slug}`")
        if found.truncated:
            raise TooLarge(
                f"`{path[:200]}` has {found.total_bytes:,} bytes",
                hint=f"get all files with `prime env pull {ref.slug}`",
            )
    except PrimeError as error:
        return answer_page_error(request, error)
    return Response(found.content, headers=TEXT_HEADERS)


@router.page(_PATH + "/versions")
async def version_list(request: Request) -> Response:
    """All versions, and what differs between the two in the query."""
    before, after = (request.query_params.get(name, "")[:_LONGEST] for name in ("from", "to"))
    pair = None
    try:
        ref = await _ref(request)
        detail = await call(request, environments.get_page_detail, ref)
        listed = await call(request, versions.list_versions, ref)
        if before and after:
            for version in (before, after):
                await read_through(request, ref.at(version))
            found = await call(request, compare_versions, ref, before, after)
            pair = VersionPair(before, after, found)
    except PrimeError as error:
        return answer_page_error(request, error)
    cursor = parse_cursor(request.query_params, LIST)
    return await show_page(request, versions_page, detail, listed.versions, pair, cursor)


@router.page(_PATH + "/evaluations")
async def evaluations(request: Request) -> Response:
    """The leaderboard; the model and the version that it shows are in the query."""
    query = HistoryQuery(
        model_name=request.query_params.get("model") or None,
        version=request.query_params.get("version") or None,
        receipts=bool(request.query_params.get("receipts")),
    )
    try:
        ref = await _ref(request)
        detail = await call(request, environments.get_page_detail, ref)
        board = await call(request, read_leaderboard, ref, query)
    except PrimeError as error:
        return answer_page_error(request, error)
    neighbours = await run_export(hub_of(request), _neighbours, hub_of(request), board)
    cursor = parse_cursor(request.query_params)
    return await show_page(request, leaderboard_page, detail, board, query, neighbours, cursor)


@router.page(_PATH + "/details")
@router.page(_PATH + "/@{version}/details")
async def details(request: Request) -> Response:
    """What is known of a version: arguments, requirements, check, signatures."""
    try:
        ref = await _ref(request)
        detail = await call(request, environments.get_page_detail, ref)
        source = await call(request, read_source, ref)
        lock = await _document(request, ref, LOCK)
        report = await _document(request, ref, CHECK_REPORT)
        signatures = await _document(request, ref, SIGNATURES)
    except PrimeError as error:
        return answer_page_error(request, error)
    shown = detail, source, lock, report, signatures
    return await show_page(request, details_page, *shown, request.query_params)


def _neighbours(hub: Hub, board: LeaderboardPage) -> Neighbours:
    try:
        return Neighbours(compare_neighbours(hub, board.rows))
    except PrimeError as error:
        return Neighbours(problem=error.message)


async def _ref(request: Request) -> EnvRef:
    """The version in the path, or the newest."""
    ref = await ref_to_read(request)
    return ref if ref.version else ref.at(LATEST)


async def _document(request: Request, ref: EnvRef, kind: DocumentKind[D]) -> D | None:
    try:
        return await call(request, get_document, ref, kind)
    except NotFound:
        return None
