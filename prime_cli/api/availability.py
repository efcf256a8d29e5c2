"""`/availability`: machines and disks that can be rented now."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from prime_cli.api.addresses import Query
from prime_cli.api.connection import Connection
from prime_cli.wire.offers import DiskOffer, DiskOfferPage, GpuOffer, OfferPage, Summary

_PAGE = 100
_MOST_PAGES = 200
_MOST_BYTES = 16 * 1024 * 1024


@dataclass(frozen=True)
class OfferFilter:
    """What the hub itself can leave out of its offers; the rest is for whoever asks."""

    gpu_type: str | None = None
    gpu_count: int | None = None
    regions: Sequence[str] = ()
    disks: Sequence[str] = ()


Offer_co = TypeVar("Offer_co", bound=GpuOffer | DiskOffer, covariant=True)
Offer = TypeVar("Offer", bound=GpuOffer | DiskOffer)


class OffersOfPage(Protocol[Offer_co]):
    """Some of the offers of a kind."""

    @property
    def items(self) -> Sequence[Offer_co]: ...
    @property
    def total_count(self) -> int: ...


class Availability:
    """Offers; raises NotLoggedIn where a hub shows them to its users only."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def gpus(self, wanted: OfferFilter | None = None) -> list[GpuOffer]:
        """Every single machine."""
        return self._machines("/availability/gpus", wanted or OfferFilter())

    def multi_node(self, wanted: OfferFilter | None = None) -> list[GpuOffer]:
        """Every cluster that is rented as one."""
        return self._machines("/availability/multi-node", wanted or OfferFilter())

    def disks(
        self, regions: Sequence[str] = (), data_center_id: str | None = None
    ) -> list[DiskOffer]:
        """Every kind of disk."""
        query = {"regions": tuple(regions) or None, "data_center_id": data_center_id}
        return self._all("/availability/disks", DiskOfferPage, query)

    def summary(self) -> Summary:
        """Prices by type of machine and number of GPUs."""
        answer = self._connection.call("GET", "/availability/gpu-summary", most=_MOST_BYTES)
        return answer.convert(answer.body, Summary)

    def _machines(self, path: str, wanted: OfferFilter) -> list[GpuOffer]:
        query = {
            "regions": tuple(wanted.regions) or None,
            "gpu_count": wanted.gpu_count,
            "gpu_type": wanted.gpu_type,
            "disks": tuple(wanted.disks) or None,
        }
        return self._all(path, OfferPage, query)

    def _all(self, path: str, page_type: type[OffersOfPage[Offer]], query: Query) -> list[Offer]:
        found: list[Offer] = []
        for number in range(1, _MOST_PAGES + 1):
            asked = {"page": number, "page_size": _PAGE, **query}
            answer = self._connection.call("GET", path, query=asked, most=_MOST_BYTES)
            page = answer.read_exactly(page_type)
            found += page.items
            if not page.items or len(found) >= page.total_count:
                break
        return found
