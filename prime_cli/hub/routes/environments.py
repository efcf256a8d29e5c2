"""Environments and versions: reading, deleting, forking and starring."""

from starlette.requests import Request
from starlette.responses import Response

from prime_cli.hub.dispatch import call, hub_of
from prime_cli.hub.routes.operations import Flag, Number, Operation, Text, Texts
from prime_cli.hub.routes.requests import caller_of, read_json, ref_of, ref_to_read
from prime_cli.hub.routes.responses import answer, enveloped
from prime_cli.hub.services import (
    environment_creation,
    environments,
    files,
    version_documents,
    versions,
)
from prime_cli.hub.services.environment_list import CatalogueQuery, list_environments
from prime_cli.hub.services.paging import DEEPEST, ORDERS
from prime_cli.wire.environments import (
    EnvironmentDetail,
    EnvironmentPage,
    EnvironmentStatus,
    FinalizeReply,
    ForkReply,
    ForkRequest,
    Inspection,
    LookupReply,
    LookupRequest,
    VersionList,
)
from prime_cli.wire.locks import Lock

# --- Environments and versions ---

_OWNER = Text("owner", "Only environments of this user or team")
_VISIBILITY = Text("visibility", "Only `PUBLIC` or only `PRIVATE` environments")
_SEARCH = Text("search", "Prefixes of words in name, owner, description or tags")
_TAGS = Texts(Text("tags", "Only with this tag; repeat to require several"))
_STARRED = Flag("starred_only", "Only environments that the caller has starred")
_MINE = Flag("mine_only", "Only environments of the caller and the caller's teams")
_SORT_BY = Text("sort_by", "Sort key", choices=tuple(ORDERS))
_SORT_ORDER = Text("sort_order", "Sort order", choices=("asc", "desc"))
_LIMIT = Number("limit", "Maximum number of items", default=20, least=1, most=1000)
_OFFSET = Number(
    "offset",
    "Number of items to skip",
    default=0,
    least=0,
    most=DEEPEST,
    hint="use `cursor` to page further, or narrow the list",
)
_CURSOR = Text("cursor", "`next_cursor` of the previous page; replaces `offset`")
_LIST = (
    _OWNER, _VISIBILITY, _SEARCH, _TAGS, _STARRED, _MINE, _SORT_BY, _SORT_ORDER, _LIMIT, _OFFSET,
    _CURSOR,
)  # fmt: skip
_PATH = Text("path", "Path of a file or folder in the source archive")
_MAX_BYTES = Number(
    "max_bytes",
    "Maximum number of bytes of file content to return",
    default=files.DEFAULT_BYTES,
    least=1,
    most=files.MOST_BYTES,
)


async def list_(request: Request) -> Response:
    query = CatalogueQuery(
        owner=_OWNER.read(request),
        visibility=_VISIBILITY.read(request),
        search=_SEARCH.read(request),
        tags=_TAGS.read(request),
        starred_only=_STARRED.read(request),
        mine_only=_MINE.read(request),
        sort_by=_SORT_BY.read(request) or "created_at",
        descending=_SORT_ORDER.read(request) != "asc",
        limit=_LIMIT.read(request),
        offset=_OFFSET.read(request),
        cursor=_CURSOR.read(request),
    )
    page = await call(request, list_environments, hub_of(request), caller_of(request), query)
    return answer(page)


async def detail(request: Request) -> Response:
    args = hub_of(request), caller_of(request), await ref_to_read(request)
    return enveloped(await call(request, environments.get_detail, *args))


async def status(request: Request) -> Response:
    args = hub_of(request), caller_of(request), await ref_to_read(request)
    return enveloped(await call(request, environments.get_status, *args))


async def list_versions(request: Request) -> Response:
    ref = await ref_to_read(request)
    args = hub_of(request), caller_of(request), ref
    here = await call(request, versions.list_versions, *args)
    through = request.app.state.through
    there = through.versions(ref) if through is not None else None
    return enveloped(here if there is None else VersionList(there))


async def inspect(request: Request) -> Response:
    args = hub_of(request), caller_of(request), await ref_to_read(request)
    found = await call(
        request,
        files.inspect_sources,
        *args,
        path=_PATH.read(request) or "",
        max_bytes=_MAX_BYTES.read(request),
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
    return enveloped(await call(request, environment_creation.lookup, *args))


async def get_lock(request: Request) -> Response:
    args = hub_of(request), caller_of(request), await ref_to_read(request)
    return enveloped(await call(request, version_documents.get_lock, *args))


async def put_lock(request: Request) -> Response:
    lock = await read_json(request, Lock)
    args = hub_of(request), caller_of(request), ref_of(request), lock
    return enveloped(await call(request, version_documents.put_lock, *args))


_ONE = "/environmentshub/{owner}/{name}"
_VERSION = _ONE + "/@{version}"


# --- Forks and stars ---


async def fork(request: Request) -> Response:
    wanted = await read_json(request, ForkRequest)
    args = hub_of(request), caller_of(request), ref_of(request), wanted
    return enveloped(await call(request, environment_creation.fork, *args))


async def set_star(request: Request) -> Response:
    args = hub_of(request), caller_of(request), ref_of(request)
    starred = request.method == "PUT"
    return enveloped(await call(request, environments.set_star, *args, starred=starred))


OPERATIONS = (
    Operation(
        "GET",
        "/environmentshub",
        list_,
        "List environments",
        answers=EnvironmentPage,
        query=_LIST,
        enveloped=False,
    ),
    Operation(
        "POST",
        "/environmentshub/lookup",
        lookup,
        "Look up an environment by id or name",
        answers=LookupReply,
        takes=LookupRequest,
    ),
    Operation("GET", _VERSION, detail, "Show one version", answers=EnvironmentDetail),
    Operation(
        "DELETE",
        _VERSION,
        delete_version,
        "Delete a version by its content hash",
        answers=FinalizeReply,
        needs_key=True,
    ),
    Operation(
        "GET",
        _VERSION + "/inspect",
        inspect,
        "Browse the source files of a version",
        answers=Inspection,
        query=(_PATH, _MAX_BYTES),
    ),
    Operation("GET", _VERSION + "/lock", get_lock, "Get the lock of a version", answers=Lock),
    Operation(
        "PUT",
        _VERSION + "/lock",
        put_lock,
        "Store the lock of a version",
        answers=Lock,
        takes=Lock,
        needs_key=True,
    ),
    Operation(
        "GET",
        _ONE + "/status",
        status,
        "Show the publication status of an environment",
        answers=EnvironmentStatus,
    ),
    Operation("GET", _ONE + "/versions", list_versions, "List versions", answers=VersionList),
    Operation(
        "DELETE",
        _ONE,
        delete_environment,
        "Delete an environment with all its versions",
        answers=FinalizeReply,
        needs_key=True,
    ),
    Operation(
        "DELETE",
        "/environmentshub/{id}",
        delete_environment,
        "Delete an environment by its id",
        answers=FinalizeReply,
        needs_key=True,
    ),
    Operation(
        "POST",
        _ONE + "/fork",
        fork,
        "Fork an environment to the caller or a team",
        answers=ForkReply,
        takes=ForkRequest,
        needs_key=True,
    ),
    Operation(
        "PUT",
        _ONE + "/star",
        set_star,
        "Star an environment",
        answers=FinalizeReply,
        needs_key=True,
    ),
    Operation(
        "DELETE",
        _ONE + "/star",
        set_star,
        "Unstar an environment",
        answers=FinalizeReply,
        needs_key=True,
    ),
)
