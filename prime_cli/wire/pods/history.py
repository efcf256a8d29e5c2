"""Pods that ended."""

import msgspec


class PastPod(msgspec.Struct, rename="camel"):
    """`HistoryObj`: a pod that ended, and what it came to."""

    id: str
    name: str | None = None
    provider_type: str = ""
    provisioned_by: str | None = None
    type: str = "Instance"
    created_at: str = ""
    terminated_at: str | None = None
    gpu_name: str = ""
    gpu_count: int = 0
    socket: str | None = None
    price_hr: float | None = None
    user_id: str | None = None
    team_id: str | None = None
    total_billed_price: float | None = None


class PastPage(msgspec.Struct):
    """`GET /pods/history`."""

    data: list[PastPod] = []
    total_count: int = 0
    offset: int = 0
    limit: int = 100
