"""Machines and disks that are available now."""

from starlette.requests import Request

from prime_cli.hub.dispatch import call_provider
from prime_cli.hub.routes.router import Router
from prime_cli.hub.services.compute import offers
from prime_cli.wire.offers import (
    DiskOfferPage,
    DiskOfferQuery,
    OfferByTypeQuery,
    OfferPage,
    OfferQuery,
    OffersByType,
    Summary,
)

router = Router(enveloped=False, needs_key=True)


@router.get("/availability/gpus", "List available machines")
async def list_machines(request: Request, query: OfferQuery) -> OfferPage:
    return await call_provider(request, offers.list_offers, query, clusters=False)


@router.get("/availability/multi-node", "List available multi-node clusters")
async def list_clusters(request: Request, query: OfferQuery) -> OfferPage:
    return await call_provider(request, offers.list_offers, query, clusters=True)


@router.get("/availability", "List available machines by GPU type (for clients up to 0.4.11)")
async def list_machines_by_type(request: Request, query: OfferByTypeQuery) -> OffersByType:
    return await call_provider(request, offers.list_by_type, query, clusters=False)


@router.get(
    "/availability/clusters", "List available clusters by GPU type (for clients up to 0.4.11)"
)
async def list_clusters_by_type(request: Request, query: OfferByTypeQuery) -> OffersByType:
    return await call_provider(request, offers.list_by_type, query, clusters=True)


@router.get("/availability/gpu-summary", "Show the lowest machine prices")
async def summarize_machines(request: Request) -> Summary:
    return await call_provider(request, offers.summarize, clusters=False)


@router.get("/availability/multi-node-summary", "Show the lowest cluster prices")
async def summarize_clusters(request: Request) -> Summary:
    return await call_provider(request, offers.summarize, clusters=True)


@router.get("/availability/disks", "List available disks")
async def list_disks(request: Request, query: DiskOfferQuery) -> DiskOfferPage:
    return await call_provider(request, offers.list_disk_offers, query)
