"""Publishing an environment, step by step, and the publishers that are trusted to."""

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from prime_cli.core.errors import IntegrityError
from prime_cli.hub.dispatch import call, caller_of, hub_of, run, run_outside, run_write
from prime_cli.hub.routes.router import Router
from prime_cli.hub.services import environment_creation, publishers, publishing
from prime_cli.hub.urls import UPLOAD
from prime_cli.wire.environments import (
    ArtifactRequest,
    FinalizeReply,
    ResolveReply,
    ResolveRequest,
    VersionTicket,
    WheelTicket,
)
from prime_cli.wire.publishers import (
    MintedKey,
    MintRequest,
    NewPublisher,
    Publisher,
    PublisherList,
    PublisherQuery,
)
from prime_cli.wire.secrets import Done

router = Router(needs_key=True)

_ID = "/environmentshub/{id}"
_MOST_TOKEN_BYTES = 64 * 1024


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


@router.get("/publishers", "List the trusted publishers of what the caller manages")
async def list_publishers(request: Request, query: PublisherQuery) -> PublisherList:
    return await call(request, publishers.list_publishers, query)


@router.post("/publishers", "Trust CI jobs to publish an environment, or all of an owner")
async def add_publisher(request: Request, body: NewPublisher) -> Publisher:
    return await call(request, publishers.add_publisher, body)


@router.delete("/publishers/{publisher_id}", "Stop trusting a publisher")
async def remove_publisher(request: Request) -> Done:
    return await call(request, publishers.remove_publisher, request.path_params["publisher_id"])


@router.post(
    "/publishers/mint-key",
    "Exchange the OIDC token of a CI job for a key of 15 minutes that only publishes",
    needs_key=False,
    most_bytes=_MOST_TOKEN_BYTES,
)
async def mint_key(request: Request, body: MintRequest) -> MintedKey:
    hub, issuers = hub_of(request), request.app.state.issuers
    return await run_outside(hub, publishers.mint_key, hub, caller_of(request), issuers, body)
