"""Addresses that do not leave this machine."""

import ipaddress
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
