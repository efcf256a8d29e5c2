"""Giving pods back."""

import msgspec

from prime_cli.wire.pods.statuses import TERMINATED, UNKNOWN


class Ended(msgspec.Struct):
    """What `DELETE /pods/{id}` and `DELETE /disks/{id}` answer."""

    status: str = TERMINATED


class Endable(msgspec.Struct, rename="camel"):
    """`GET /pods/{id}/endable` of our hubs: what somebody has to know of a pod to end it.

    An admin of the hub may end pods that are not for the admin to see, and is told no more than
    this. `owner` is the slug of their user.
    """

    id: str
    owner: str
    gpu_name: str
    gpu_count: int
    nodes: int = 1
    name: str | None = None
    provider_type: str = ""
    status: str = UNKNOWN
    created_at: str = ""
    terminated_at: str | None = None
    price_hr: float | None = None
