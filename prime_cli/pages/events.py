"""Server-sent events, by which a page learns that what it shows has grown."""

from collections.abc import Mapping
from typing import Any

import msgspec

from prime_cli.pages.links import whole_number

EVENT_HEADERS = {
    "content-type": "text/event-stream",
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
}
FIRST_EVENT = b"retry: 2000\n\n"
ASK_LATER = b"retry: 30000\n\n"
"""All of the answer to one page too many: a browser gives up for good at any error."""
STILL_THERE = b": waiting\n\n"


def event(name: str, *, at: int | None = None, **data: Any) -> bytes:
    """An event: `grown` after which a page is fetched again, or `ended`.

    A browser that asks again says `at` what it was, in the header `Last-Event-ID`.
    """
    place = b"" if at is None else b"id: %d\n" % at
    return b"%sevent: %s\ndata: %s\n\n" % (place, name.encode(), msgspec.json.encode(data))


def known_count(headers: Mapping[str, str], query: Mapping[str, str]) -> int | None:
    """How many rollouts a page shows, or has been told of since."""
    return whole_number(headers.get("last-event-id") or query.get("known", ""))
