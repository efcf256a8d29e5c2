"""Machines and disks that are available now."""

from starlette.requests import Request

from prime_cli.hub.dispatch import call_provider
from prime_cli.hub.routes.parameters import Number, Parameter, Text, Texts
from prime_cli.hub.routes.router import Router
from prime_cli.hub.services.compute import offers
from prime_cli.hub.services.compute.offers import OfferFilter, Slice
from prime_cli.wire.offers import DiskOfferPage, OfferPage, OffersByType, Summary

router = Router(enveloped=False, needs_key=True)

_PAGE = Number("page", "Page number, starting at 1", default=1, least=1, most=10**6)
_SIZE = Number("page_size", "Number of items per page", default=100, least=1, most=100)
_OLD_SIZE = Number("page_size", "Number of items per page", default=500, least=1, most=500)
_REGIONS = Texts(Text("regions", "Only this region, such as `eu_north`; repeat to allow several"))
_COUNT = Number("gpu_count", "Number of GPUs; 0 means any", default=0, least=0, most=2**31 - 1)
_TYPE = Text("gpu_type", "GPU type, such as `H100_80GB`; `CPU_NODE` means no GPU")
_SOCKET = Text("socket", "GPU socket, such as `PCIe`")
_SECURITY = Text("security", "Security tier: `secure_cloud` or `community_cloud`")
_DATA_CENTER = Text("data_center_id", "Only this data center")
_CLOUD = Text("cloud_id", "Only the offer with this provider id")
_DISKS = Texts(Text("disks", "Only machines that can attach this disk"))

_OF_DISKS: tuple[Parameter, ...] = (_REGIONS, _DATA_CENTER, _CLOUD)
_OF_MACHINES: tuple[Parameter, ...] = (*_OF_DISKS, _COUNT, _TYPE, _SOCKET, _SECURITY, _DISKS)
_LIST = (_PAGE, _SIZE, *_OF_MACHINES)
_OLD_LIST = (_PAGE, _OLD_SIZE, *_OF_MACHINES)


def _said(parameter: Texts, request: Request) -> tuple[str, ...]:
    """The texts that are not empty: clients leave a filter open by either."""
    return tuple(text for text in parameter.read(request) if text)


def _read_filter(request: Request) -> OfferFilter:
    return OfferFilter(
        regions=_said(_REGIONS, request),
        gpu_count=_COUNT.read(request) or None,
        gpu_type=_TYPE.read(request),
        socket=_SOCKET.read(request),
        security=_SECURITY.read(request),
        data_center_id=_DATA_CENTER.read(request),
        cloud_id=_CLOUD.read(request),
        disks=_said(_DISKS, request),
    )


async def _list(request: Request, *, clusters: bool) -> OfferPage:
    part = Slice(_PAGE.read(request), _SIZE.read(request))
    wanted = _read_filter(request)
    return await call_provider(request, offers.list_offers, wanted, part, clusters=clusters)


async def _list_by_type(request: Request, *, clusters: bool) -> OffersByType:
    part = Slice(_PAGE.read(request), _OLD_SIZE.read(request))
    wanted = _read_filter(request)
    return await call_provider(request, offers.list_by_type, wanted, part, clusters=clusters)


@router.get("/availability/gpus", "List available machines", query=_LIST)
async def list_machines(request: Request) -> OfferPage:
    return await _list(request, clusters=False)


@router.get("/availability/multi-node", "List available multi-node clusters", query=_LIST)
async def list_clusters(request: Request) -> OfferPage:
    return await _list(request, clusters=True)


@router.get(
    "/availability",
    "List available machines by GPU type (for clients up to 0.4.11)",
    query=_OLD_LIST,
)
async def list_machines_by_type(request: Request) -> OffersByType:
    return await _list_by_type(request, clusters=False)


@router.get(
    "/availability/clusters",
    "List available clusters by GPU type (for clients up to 0.4.11)",
    query=_OLD_LIST,
)
async def list_clusters_by_type(request: Request) -> OffersByType:
    return await _list_by_type(request, clusters=True)


@router.get("/availability/gpu-summary", "Show the lowest machine prices")
async def summarize_machines(request: Request) -> Summary:
    return await call_provider(request, offers.summarize, clusters=False)


@router.get("/availability/multi-node-summary", "Show the lowest cluster prices")
async def summarize_clusters(request: Request) -> Summary:
    return await call_provider(request, offers.summarize, clusters=True)


@router.get("/availability/disks", "List available disks", query=(_PAGE, _SIZE, *_OF_DISKS))
async def list_disks(request: Request) -> DiskOfferPage:
    wanted = OfferFilter(
        regions=_said(_REGIONS, request),
        data_center_id=_DATA_CENTER.read(request),
        cloud_id=_CLOUD.read(request),
    )
    part = Slice(_PAGE.read(request), _SIZE.read(request))
    return await call_provider(request, offers.list_disk_offers, wanted, part)
