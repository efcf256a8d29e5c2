"""Addresses of hubs as people type them, and the page for approving a login."""

from urllib.parse import quote

from prime_cli.core.config.parsers import parse_hub_url, split_url
from prime_cli.core.errors import UsageError
from prime_cli.core.http import is_loopback, sends_unencrypted

_APPROVAL = "/dashboard/tokens/challenge?code="


def read_hub_url(text: str, *, allow_http: bool) -> str:
    """The hub's address without a trailing slash or `/api/v1`; `https://` may be left out.

    A key sent over http can be read in transit: unless it stays on this machine, that must be
    allowed explicitly. Raises UsageError.
    """
    url = text.strip() if "://" in text else _with_scheme(text.strip())
    if split_url(url) is None:
        raise UsageError(
            f"`{text}` is not the address of a hub", hint="write `https://hub.example.org`"
        )
    address = parse_hub_url(url, "The hub")
    require_https(address, allow_http=allow_http)
    return address


def require_https(url: str, *, allow_http: bool) -> None:
    """Raise UsageError for an address to which a key would be sent unencrypted."""
    if not allow_http and sends_unencrypted(url):
        raise UsageError(
            f"Keys would be sent to {url} unencrypted",
            hint="use https, or allow it in a network you trust: `--allow-http`",
        )


def approval_url(web_url: str, code: str) -> str:
    """The page for approving a client; raises UsageError if `web_url` is not a web address."""
    if split_url(web_url) is None:
        raise UsageError(
            f"`{web_url}` is not the URL of web pages",
            hint="correct `web_url` of the context in config.toml",
        )
    return f"{web_url.rstrip('/')}{_APPROVAL}{quote(code, safe='')}"


def _with_scheme(text: str) -> str:
    url = f"https://{text}"
    is_here = split_url(url) is not None and is_loopback(url)
    return f"http://{text}" if is_here else url
