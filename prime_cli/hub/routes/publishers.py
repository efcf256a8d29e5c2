"""Trusted publishers, for their owners and for CI jobs."""

from starlette.requests import Request

from prime_cli.hub.dispatch import call, caller_of, hub_of, run_outside
from prime_cli.hub.routes.router import Router
from prime_cli.hub.services import publishers as service
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

_MOST_BYTES = 64 * 1024


@router.get("/publishers", "List the trusted publishers of what the caller manages")
async def list_publishers(request: Request, query: PublisherQuery) -> PublisherList:
    return await call(request, service.list_publishers, query)


@router.post("/publishers", "Trust CI jobs to publish an environment, or all of an owner")
async def add(request: Request, body: NewPublisher) -> Publisher:
    return await call(request, service.add_publisher, body)


@router.delete("/publishers/{publisher_id}", "Stop trusting a publisher")
async def remove(request: Request) -> Done:
    return await call(request, service.remove_publisher, request.path_params["publisher_id"])


@router.post(
    "/publishers/mint-key",
    "Exchange the OIDC token of a CI job for a key of 15 minutes that only publishes",
    needs_key=False,
    most_bytes=_MOST_BYTES,
)
async def mint(request: Request, body: MintRequest) -> MintedKey:
    hub, issuers = hub_of(request), request.app.state.issuers
    return await run_outside(hub, service.mint_key, hub, caller_of(request), issuers, body)
