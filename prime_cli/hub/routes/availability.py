"""Machines and disks that are available now."""

from collections.abc import Callable
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from prime_cli.hub.dispatch import call_provider, hub_of
from prime_cli.hub.routes.operations import Endpoint, Number, Operation, Parameter, Text, Texts
from prime_cli.hub.routes.requests import caller_of
from prime_cli.hub.routes.responses import answer
from prime_cli.hub.services.compute import offers as service
from prime_cli.hub.services.compute.offers import OfferFilter, Slice
from prime_cli.wire.offers import DiskOfferPage, OfferPage, OffersByType, Summary

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


def _machines(find: Callable[..., Any], size: Number, *, clusters: bool) -> Endpoint:
    async def endpoint(request: Request) -> Response:
        part = Slice(_PAGE.read(request), size.read(request))
        args = hub_of(request), caller_of(request), _read_filter(request), part
        return answer(await call_provider(request, find, *args, clusters=clusters))

    return endpoint


def _summary(*, clusters: bool) -> Endpoint:
    async def endpoint(request: Request) -> Response:
        args = hub_of(request), caller_of(request)
        return answer(await call_provider(request, service.summarize, *args, clusters=clusters))

    return endpoint


async def disks(request: Request) -> Response:
    wanted = OfferFilter(
        regions=_said(_REGIONS, request),
        data_center_id=_DATA_CENTER.read(request),
        cloud_id=_CLOUD.read(request),
    )
    part = Slice(_PAGE.read(request), _SIZE.read(request))
    return answer(
        await call_provider(request, service.list_disk_offers, hub_of(request), wanted, part)
    )


def _operation(
    path: str, endpoint: Endpoint, summary: str, answers: Any, query: tuple[Parameter, ...] = ()
) -> Operation:
    return Operation(
        "GET",
        f"/availability{path}",
        endpoint,
        summary,
        answers=answers,
        query=query,
        enveloped=False,
        needs_key=True,
    )


_LISTS = (
    ("/gpus", False, "List available machines"),
    ("/multi-node", True, "List available multi-node clusters"),
)
_OLD_LISTS = (
    ("", False, "List available machines by GPU type (for clients up to 0.4.11)"),
    ("/clusters", True, "List available clusters by GPU type (for clients up to 0.4.11)"),
)
_SUMMARIES = (
    ("/gpu-summary", False, "Show the lowest machine prices"),
    ("/multi-node-summary", True, "Show the lowest cluster prices"),
)

OPERATIONS = (
    *(
        _operation(
            path,
            _machines(service.list_offers, _SIZE, clusters=clusters),
            summary,
            OfferPage,
            (_PAGE, _SIZE, *_OF_MACHINES),
        )
        for path, clusters, summary in _LISTS
    ),
    *(
        _operation(
            path,
            _machines(service.list_by_type, _OLD_SIZE, clusters=clusters),
            summary,
            OffersByType,
            (_PAGE, _OLD_SIZE, *_OF_MACHINES),
        )
        for path, clusters, summary in _OLD_LISTS
    ),
    *(
        _operation(path, _summary(clusters=clusters), summary, Summary)
        for path, clusters, summary in _SUMMARIES
    ),
    _operation("/disks", disks, "List available disks", DiskOfferPage, (_PAGE, _SIZE, *_OF_DISKS)),
)
