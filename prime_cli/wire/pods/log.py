"""The log of a pod."""

from typing import Any

import msgspec


class PodLog(msgspec.Struct):
    """`GET /pods/{id}/log` of our hubs; the published schema leaves its form open."""

    logs: str = ""


def read_log(said: Any) -> str:
    """The text of a log in whatever JSON a hub gives it: a text, lines, or an object with them."""
    if isinstance(said, list):
        return "\n".join(each for each in said if isinstance(each, str))
    if isinstance(said, dict):
        return read_log(next((said[name] for name in ("logs", "log", "data") if name in said), ""))
    return said if isinstance(said, str) else ""
