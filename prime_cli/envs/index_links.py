"""The links of a simple package index page (PEP 503)."""

from dataclasses import dataclass
from html.parser import HTMLParser
from urllib.parse import unquote, urldefrag, urljoin, urlsplit

from prime_cli.core.errors import Unreachable


@dataclass(frozen=True)
class IndexLink:
    """A file in the index: absolute URL without fragment, file name, sha256 (hex) if given."""

    url: str
    filename: str
    sha256: str | None


def parse_links(page_url: str, html: str) -> list[IndexLink]:
    """The links of the page that was read from `page_url`, in its order.

    Raises Unreachable for markup or addresses that cannot be read.
    """
    reader = _Anchors()
    try:
        reader.feed(html)
        return [_link(urljoin(page_url, href)) for href in reader.hrefs]
    # html.parser asserts on marked sections that no HTML has; urllib refuses odd hosts.
    except (AssertionError, ValueError) as error:
        raise Unreachable(f"The package index at {page_url} cannot be read: {error}") from error


class _Anchors(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.hrefs: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        href = dict(attrs).get("href") if tag == "a" else None
        if href:
            self.hrefs.append(href)


def _link(address: str) -> IndexLink:
    url, fragment = urldefrag(address)
    algorithm, _, digest = fragment.partition("=")
    filename = unquote(urlsplit(url).path.rpartition("/")[2])
    return IndexLink(url, filename, digest.lower() if algorithm == "sha256" and digest else None)
