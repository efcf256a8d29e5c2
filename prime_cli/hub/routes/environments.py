"""Reading and deleting environments and versions."""

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from prime_cli.hub.dispatch import call, hub_of
from prime_cli.hub.routes.answers import answer, enveloped
from prime_cli.hub.routes.reading import caller_of, read_flag, read_json, read_number, ref_of
from prime_cli.hub.services import environments, inspection, locks, resolving, versions
from prime_cli.hub.services.catalogue import CatalogueQuery, list_environments
from prime_cli.wire.environments import LookupRequest
from prime_cli.wire.locks import Lock

_LONGEST_PAGE = 1000


async def list_(request: Request) -> Response:
    params = request.query_params
    query = CatalogueQuery(
        owner=params.get("owner"),
        visibility=params.get("visibility"),
        search=params.get("search"),
        tags=tuple(params.getlist("tags")),
        starred_only=read_flag(request, "starred_only"),
        mine_only=read_flag(request, "mine_only"),
        sort_by=params.get("sort_by", "created_at"),
        descending=params.get("sort_order", "desc").lower() != "asc",
        limit=read_number(request, "limit", 20, least=1, most=_LONGEST_PAGE),
        offset=read_number(request, "offset", 0, least=0, most=2**31),
    )
    page = await call(request, list_environments, hub_of(request), caller_of(request), query)
    return answer(page)


async def detail(request: Request) -> Response:
    args = hub_of(request), caller_of(request), ref_of(request)
    return enveloped(await call(request, environments.get_detail, *args))


async def status(request: Request) -> Response:
    args = hub_of(request), caller_of(request), ref_of(request)
    return enveloped(await call(request, environments.get_status, *args))


async def list_versions(request: Request) -> Response:
    args = hub_of(request), caller_of(request), ref_of(request)
    return enveloped(await call(request, versions.list_versions, *args))


async def inspect(request: Request) -> Response:
    args = hub_of(request), caller_of(request), ref_of(request)
    found = await call(
        request,
        inspection.inspect_sources,
        *args,
        path=request.query_params.get("path", ""),
        max_bytes=read_number(
            request, "max_bytes", inspection.DEFAULT_BYTES, least=1, most=inspection.MOST_BYTES
        ),
    )
    return enveloped(found)


async def delete_version(request: Request) -> Response:
    ref = ref_of(request)
    args = hub_of(request), caller_of(request), ref.at(None), ref.wire_version
    return enveloped(await call(request, versions.delete_version, *args))


async def delete_environment(request: Request) -> Response:
    params = request.path_params
    environment_id = params.get("id") or ref_of(request).slug
    args = hub_of(request), caller_of(request), environment_id
    return enveloped(await call(request, environments.delete_environment, *args))


async def lookup(request: Request) -> Response:
    wanted = await read_json(request, LookupRequest)
    args = hub_of(request), caller_of(request), wanted
    return enveloped(await call(request, resolving.lookup, *args))


async def get_lock(request: Request) -> Response:
    args = hub_of(request), caller_of(request), ref_of(request)
    return enveloped(await call(request, locks.get_lock, *args))


async def put_lock(request: Request) -> Response:
    lock = await read_json(request, Lock)
    args = hub_of(request), caller_of(request), ref_of(request), lock
    return enveloped(await call(request, locks.put_lock, *args))


_ONE = "/environmentshub/{owner}/{name}"
_VERSION = _ONE + "/@{version}"

ROUTES = [
    Route("/environmentshub", list_),
    Route("/environmentshub/lookup", lookup, methods=["POST"]),
    Route(_VERSION, detail),
    Route(_VERSION, delete_version, methods=["DELETE"]),
    Route(_VERSION + "/inspect", inspect),
    Route(_VERSION + "/lock", get_lock),
    Route(_VERSION + "/lock", put_lock, methods=["PUT"]),
    Route(_ONE + "/status", status),
    Route(_ONE + "/versions", list_versions),
    Route(_ONE, delete_environment, methods=["DELETE"]),
    Route("/environmentshub/{id}", delete_environment, methods=["DELETE"]),
]
