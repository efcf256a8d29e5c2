"""The style sheet, script and icon of all pages, and the headers that let a page load nothing else.

Each is one file to a browser: all of `static/*.css`, or `*.js`, in the order of their names. Its
address has the hash of its content, so browsers keep it for good.
"""

from functools import cache
from hashlib import sha256
from importlib import resources
from typing import NamedTuple

CONTENT_SECURITY_POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; "
    "img-src 'self' data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
"""Of every page: files of its own origin, and neither style nor script within the page."""

PAGE_HEADERS = {
    "cache-control": "no-store",
    "content-security-policy": CONTENT_SECURITY_POLICY,
    "x-frame-options": "DENY",
    "x-content-type-options": "nosniff",
    # With `no-referrer` browsers would send forms with the origin `null`.
    "referrer-policy": "same-origin",
}
TEXT_HEADERS = PAGE_HEADERS | {
    "content-type": "text/plain; charset=utf-8",
    "content-security-policy": "sandbox; default-src 'none'; frame-ancestors 'none'",
}
"""Of what strangers wrote, by itself."""
ASSET_HEADERS = {
    "cache-control": "public, max-age=31536000, immutable",
    "x-content-type-options": "nosniff",
}
STATIC = "/static/"
_TYPES = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}


class Asset(NamedTuple):
    """A file that pages load; `name` has the hash of its content."""

    name: str
    content: bytes
    media_type: str

    @property
    def path(self) -> str:
        """Its address."""
        return STATIC + self.name


@cache
def asset(kind: str) -> Asset:
    """The style sheet (`css`), the script (`js`) or the icon (`svg`)."""
    folder = resources.files(__package__) / "static"
    found = sorted((each for each in folder.iterdir() if each.name.endswith(f".{kind}")), key=str)
    content = b"\n".join(each.read_bytes() for each in found)
    digest = sha256(content).hexdigest()[:16]
    return Asset(f"prime-{digest}.{kind}", content, _TYPES[kind])


def find_asset(name: str) -> Asset | None:
    """The asset with this name; None for others, such as those of another release."""
    return next((found for found in map(asset, _TYPES) if found.name == name), None)
