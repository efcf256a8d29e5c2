"""The audit log of a hub, as its operator reads it. Ours: the public wire has none."""

from typing import Any

import msgspec


class AuditEntry(msgspec.Struct):
    """Who did what to what; `actor` is `cli` for a command on the machine of the hub.

    `at` is an ISO 8601 time in UTC; `key_id` and `address` are those of the request.
    """

    at: str
    actor: str
    action: str
    target: str
    key_id: str | None = None
    address: str | None = None
    detail: dict[str, Any] = msgspec.field(default_factory=dict)
