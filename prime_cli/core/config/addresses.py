"""Addresses of hubs as people write them, brought into the one form that is compared."""

import re
from urllib.parse import SplitResult, urlsplit

from prime_cli.core.errors import UsageError

_PRINTABLE = re.compile(r"[\x21-\x7e]+")


def hub_address(text: str, source: str) -> str:
    """The hub's address: no trailing slash, no trailing `/api/v1`; `source` names it in messages.

    Raises UsageError for what is not a whole http or https URL, and for one that holds a name or
    a password: it would be printed, and sent in place of the key.
    """
    url = split_address(text.strip())
    if url is None or url.query or url.fragment:
        raise UsageError(
            f"{source} is `{text}`, which is not the URL of a hub",
            hint="write `https://HOST` or `http://HOST:PORT`",
        )
    if "@" in url.netloc:
        raise UsageError(
            f"{source} has a name or a password in it",
            hint="leave it out; `prime login --hub URL --token-stdin` keeps a key",
        )
    return origin_of(f"{url.scheme}://{url.netloc.lower()}{url.path}")


def origin_of(url: str) -> str:
    """The URL as the official client reads it: no trailing slash, no trailing `/api/v1`."""
    return url.rstrip("/").removesuffix("/api/v1").rstrip("/")


def split_address(text: str) -> SplitResult | None:
    """The parts of an http or https URL; None for what is no whole one.

    Neither is what two readers would read in two ways: blanks, backslashes, letters beyond ASCII.
    """
    if not _PRINTABLE.fullmatch(text) or "\\" in text:
        return None
    try:
        url = urlsplit(text)
        _ = url.port
    except ValueError:
        return None
    return url if url.hostname and url.scheme in ("http", "https") else None
