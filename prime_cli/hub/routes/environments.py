"""Environments and versions: read, delete, fork, star, document and yank."""

from typing import Any

from starlette.requests import Request

from prime_cli.hub.dispatch import call
from prime_cli.hub.routes.requests import ref_of, ref_to_read
from prime_cli.hub.routes.router import Router
from prime_cli.hub.services import (
    environment_creation,
    environments,
    versions,
)
from prime_cli.hub.services.environment_list import list_environments
from prime_cli.hub.services.version_documents import get_document, put_document
from prime_cli.wire.environment_sources import Inspection, InspectQuery
from prime_cli.wire.environments import (
    EnvironmentDetail,
    EnvironmentPage,
    EnvironmentQuery,
    EnvironmentStatus,
    FinalizeReply,
    ForkReply,
    ForkRequest,
    LookupReply,
    LookupRequest,
    VersionList,
    YankReply,
    YankRequest,
)
from prime_cli.wire.version_documents import DOCUMENT_KINDS, DocumentKind

router = Router()

_ONE = "/environmentshub/{owner}/{name}"
_VERSION = _ONE + "/@{version}"

# --- Environments ---


@router.get("/environmentshub", "List environments", enveloped=False)
async def list_(request: Request, query: EnvironmentQuery) -> EnvironmentPage:
    return await call(request, list_environments, query)


@router.post("/environmentshub/lookup", "Look up an environment by id or name")
async def lookup(request: Request, body: LookupRequest) -> LookupReply:
    return await call(request, environment_creation.lookup, body)


# --- Versions ---


@router.get(_VERSION, "Show one version")
async def detail(request: Request) -> EnvironmentDetail:
    return await call(request, environments.get_detail, await ref_to_read(request))


@router.delete(_VERSION, "Delete a version by its content hash", needs_key=True)
async def delete_version(request: Request) -> FinalizeReply:
    ref = ref_of(request)
    return await call(request, versions.delete_version, ref.at(None), ref.wire_version)


@router.get(_VERSION + "/inspect", "Browse the source files of a version")
async def inspect(request: Request, query: InspectQuery) -> Inspection:
    return await call(request, environments.inspect_sources, await ref_to_read(request), query)


@router.get(_ONE + "/status", "Show the publication status of an environment")
async def status(request: Request) -> EnvironmentStatus:
    return await call(request, environments.get_status, await ref_to_read(request))


@router.get(_ONE + "/versions", "List versions")
async def list_versions(request: Request) -> VersionList:
    ref = await ref_to_read(request)
    here = await call(request, versions.list_versions, ref)
    through = request.app.state.through
    there = through.versions(ref) if through is not None else None
    return here if there is None else await call(request, versions.list_mirrored, ref, there)


# --- Deletion, forks and stars ---


@router.delete(_ONE, "Delete an environment with all its versions", needs_key=True)
async def delete_environment(request: Request) -> FinalizeReply:
    return await call(request, environments.delete_environment, ref_of(request).slug)


@router.delete("/environmentshub/{id}", "Delete an environment by its id", needs_key=True)
async def delete_by_id(request: Request) -> FinalizeReply:
    return await call(request, environments.delete_environment, request.path_params["id"])


@router.post(_ONE + "/fork", "Fork an environment to the caller or a team", needs_key=True)
async def fork(request: Request, body: ForkRequest) -> ForkReply:
    return await call(request, environment_creation.fork, ref_of(request), body)


@router.put(_ONE + "/star", "Star an environment", needs_key=True)
async def star(request: Request) -> FinalizeReply:
    return await call(request, environments.set_star, ref_of(request), starred=True)


@router.delete(_ONE + "/star", "Unstar an environment", needs_key=True)
async def unstar(request: Request) -> FinalizeReply:
    return await call(request, environments.set_star, ref_of(request), starred=False)


# --- Documents ---


def _declare(kind: DocumentKind[Any]) -> None:
    """The routes of one kind of document."""
    path = f"{_VERSION}/{kind.path}"

    @router.get(path, f"Get the {kind.title} of a version", answers=kind.document_type)
    async def get(request: Request) -> Any:
        return await call(request, get_document, await ref_to_read(request), kind)

    @router.put(
        path,
        f"Store the {kind.title} of a version",
        takes=kind.document_type,
        answers=kind.reply_type,
        needs_key=True,
        most_bytes=kind.most_bytes,
    )
    async def put(request: Request, body: Any) -> Any:
        return await call(request, put_document, ref_of(request), kind, body)


for _kind in DOCUMENT_KINDS:
    _declare(_kind)


# --- Yanking ---


@router.post(
    _VERSION + "/yank", "Yank a version: installers skip it unless it is pinned", needs_key=True
)
async def yank(request: Request, body: YankRequest) -> YankReply:
    return await call(request, versions.yank_version, ref_of(request), body.reason)


@router.post(_VERSION + "/unyank", "Unyank a version", needs_key=True)
async def unyank(request: Request) -> YankReply:
    return await call(request, versions.unyank_version, ref_of(request))
