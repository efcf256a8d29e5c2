"""Environments and versions: reading, deleting, forking and starring."""

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
)

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
