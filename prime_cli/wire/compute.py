"""Machines to rent on the wire; both shapes of offers, and pages of pods and disks."""

from typing import Any

import msgspec


class OfferPage(msgspec.Struct, rename="camel"):
    """`GET /availability/gpus`, `/multi-node` and `/disks`; a client asks on until it has all."""

    items: list[dict[str, Any]] = []
    total_count: int = 0


class MachinePage(msgspec.Struct):
    """`GET /pods`, `/pods/history` and `/disks`."""

    data: list[dict[str, Any]] = []
    total_count: int = 0
    offset: int = 0
    limit: int = 100


class PodStates(msgspec.Struct):
    """`GET /pods/status`: one item for each pod that was asked for and is there."""

    data: list[dict[str, Any]] = []
