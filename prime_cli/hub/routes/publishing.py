"""Publishing an environment, step by step."""

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from prime_cli.core.errors import IntegrityError
from prime_cli.hub.dispatch import call, hub_of, run, run_write
from prime_cli.hub.routes.router import Router
from prime_cli.hub.services import environment_creation, publishing
from prime_cli.hub.urls import UPLOAD
from prime_cli.wire.environments import (
    ArtifactRequest,
    FinalizeReply,
    ResolveReply,
    ResolveRequest,
    VersionTicket,
    WheelTicket,
)

router = Router(needs_key=True)

_ID = "/environmentshub/{id}"


@router.post("/environmentshub/resolve", "Get or create an environment")
async def resolve(request: Request, body: ResolveRequest) -> ResolveReply:
    return await call(request, environment_creation.resolve, body)


@router.post(_ID + "/wheels", "Declare a wheel")
async def begin_wheel(request: Request, body: ArtifactRequest) -> WheelTicket:
    return await call(request, publishing.begin_wheel, request.path_params["id"], body)


@router.post(_ID + "/wheels/{wheel_id}/finalize", "Finalize an uploaded wheel")
async def finalize_wheel(request: Request) -> FinalizeReply:
    ids = request.path_params["id"], request.path_params["wheel_id"]
    return await call(request, publishing.finalize_wheel, *ids)


@router.post(_ID + "/versions", "Declare the source archive of a version")
async def begin_version(request: Request, body: ArtifactRequest) -> VersionTicket:
    return await call(request, publishing.begin_version, request.path_params["id"], body)


@router.post(_ID + "/versions/{version_id}/finalize", "Publish a version")
async def finalize_version(request: Request) -> FinalizeReply:
    ids = request.path_params["id"], request.path_params["version_id"]
    return await call(request, publishing.finalize_version, *ids)


@router.page(UPLOAD, "PUT")
async def upload(request: Request) -> Response:
    hub = hub_of(request)
    incoming = await run(hub, publishing.begin_upload, hub, request.path_params["token"])
    try:
        async for chunk in request.stream():
            await run(hub, incoming.write, chunk)
        await run_write(hub, publishing.end_upload, hub, incoming)
    except ClientDisconnect as error:
        raise IntegrityError("The upload ended early") from error
    finally:
        incoming.discard()
    return Response()
