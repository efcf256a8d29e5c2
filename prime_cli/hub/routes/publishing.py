"""Publishing an environment, step by step."""

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from prime_cli.core.errors import IntegrityError
from prime_cli.hub.dispatch import call, hub_of
from prime_cli.hub.routes.operations import Operation
from prime_cli.hub.routes.requests import caller_of, read_json
from prime_cli.hub.routes.responses import enveloped
from prime_cli.hub.services import environment_creation, publishing, uploads
from prime_cli.hub.urls import UPLOAD
from prime_cli.wire.environments import (
    ArtifactRequest,
    FinalizeReply,
    ResolveReply,
    ResolveRequest,
    VersionTicket,
    WheelTicket,
)


async def resolve(request: Request) -> Response:
    wanted = await read_json(request, ResolveRequest)
    args = hub_of(request), caller_of(request), wanted
    return enveloped(await call(request, environment_creation.resolve, *args))


async def begin_wheel(request: Request) -> Response:
    wheel = await read_json(request, ArtifactRequest)
    args = hub_of(request), caller_of(request), request.path_params["id"], wheel
    return enveloped(await call(request, publishing.begin_wheel, *args))


async def finalize_wheel(request: Request) -> Response:
    params = request.path_params
    args = hub_of(request), caller_of(request), params["id"], params["wheel_id"]
    return enveloped(await call(request, publishing.finalize_wheel, *args))


async def begin_version(request: Request) -> Response:
    sources = await read_json(request, ArtifactRequest)
    args = hub_of(request), caller_of(request), request.path_params["id"], sources
    return enveloped(await call(request, publishing.begin_version, *args))


async def finalize_version(request: Request) -> Response:
    params = request.path_params
    args = hub_of(request), caller_of(request), params["id"], params["version_id"]
    return enveloped(await call(request, publishing.finalize_version, *args))


async def upload(request: Request) -> Response:
    hub = hub_of(request)
    token = request.path_params["token"]
    incoming = await call(request, uploads.begin_upload, hub, token)
    try:
        async for chunk in request.stream():
            await call(request, incoming.write, chunk)
        await call(request, uploads.end_upload, hub, incoming)
    except ClientDisconnect as error:
        raise IntegrityError("The upload ended early") from error
    finally:
        incoming.discard()
    return Response()


_ID = "/environmentshub/{id}"

OPERATIONS = (
    Operation(
        "POST",
        "/environmentshub/resolve",
        resolve,
        "Get or create an environment",
        answers=ResolveReply,
        takes=ResolveRequest,
        needs_key=True,
    ),
    Operation(
        "POST",
        _ID + "/wheels",
        begin_wheel,
        "Declare a wheel",
        answers=WheelTicket,
        takes=ArtifactRequest,
        needs_key=True,
    ),
    Operation(
        "POST",
        _ID + "/wheels/{wheel_id}/finalize",
        finalize_wheel,
        "Finalize an uploaded wheel",
        answers=FinalizeReply,
        needs_key=True,
    ),
    Operation(
        "POST",
        _ID + "/versions",
        begin_version,
        "Declare the source archive of a version",
        answers=VersionTicket,
        takes=ArtifactRequest,
        needs_key=True,
    ),
    Operation(
        "POST",
        _ID + "/versions/{version_id}/finalize",
        finalize_version,
        "Publish a version",
        answers=FinalizeReply,
        needs_key=True,
    ),
)

UPLOAD_ROUTES = [Route(UPLOAD, upload, methods=["PUT"])]
