"""HTTP helpers: loopback addresses, dates and the Retry-After header."""

import ipaddress
import math
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from urllib.parse import urlsplit


def is_loopback(url: str) -> bool:
    """Whether requests to `url` stay on this machine."""
    host = urlsplit(url).hostname or ""
    if host == "localhost":  # many systems ask name servers for names below it
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def read_host(text: str) -> str:
    """An address to listen on, without the brackets that an IPv6 one has in URLs."""
    return text[1:-1] if text.startswith("[") and text.endswith("]") else text


def sends_unencrypted(url: str) -> bool:
    """Whether requests to it can be read in transit: http, but not within this machine."""
    return urlsplit(url).scheme == "http" and not is_loopback(url)


def retry_after(value: str | None) -> float | None:
    """Seconds to wait by the header, a number or an HTTP date; None if it does not say."""
    if not value:
        return None
    try:
        seconds = float(value)
    except ValueError:
        date = read_date(value)
        seconds = math.nan if date is None else (date - datetime.now(UTC)).total_seconds()
    return max(0.0, seconds) if math.isfinite(seconds) else None


def read_date(text: str) -> datetime | None:
    """The moment of an HTTP date; None if it is none."""
    try:
        moment = parsedate_to_datetime(text)
    except ValueError:
        return None
    # A zone of `-0000` also means UTC, and is parsed as none.
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
