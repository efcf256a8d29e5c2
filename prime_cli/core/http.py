"""Small rules of HTTP: addresses that do not leave this machine, and the Retry-After header."""

import ipaddress
import math
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from urllib.parse import urlsplit


def is_loopback(url: str) -> bool:
    """Whether what is sent to `url` stays on this machine."""
    host = urlsplit(url).hostname or ""
    if host == "localhost":  # names below it are asked of name servers by many systems
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def retry_after(value: str | None) -> float | None:
    """Seconds that the header asks to wait, a number or an HTTP date; None if it does not say."""
    if not value:
        return None
    try:
        seconds = float(value)
    except ValueError:
        seconds = _seconds_until(value)
    return max(0.0, seconds) if math.isfinite(seconds) else None


def _seconds_until(date: str) -> float:
    try:
        moment = parsedate_to_datetime(date)
    except ValueError:
        return math.nan
    # A zone of `-0000` is UTC as well, and parsed as none.
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return (moment - datetime.now(UTC)).total_seconds()
