"""Find a published wheel: in the hub's answer, else in its simple package index (PEP 503)."""

from dataclasses import dataclass
from html.parser import HTMLParser
from urllib.parse import unquote, urldefrag, urljoin, urlsplit

from packaging.utils import InvalidWheelFilename, parse_wheel_filename

from prime_cli.core.errors import NotFound, Unreachable
from prime_cli.core.refs import normalize_name
from prime_cli.envs.lookup import LocatedEnvironment


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
        return [_parse_link(urljoin(page_url, href)) for href in reader.hrefs]
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


def _parse_link(address: str) -> IndexLink:
    url, fragment = urldefrag(address)
    algorithm, _, digest = fragment.partition("=")
    filename = unquote(urlsplit(url).path.rpartition("/")[2])
    return IndexLink(url, filename, digest.lower() if algorithm == "sha256" and digest else None)


def find_link(found: LocatedEnvironment) -> IndexLink | None:
    """Where the wheel is and what its sha256 is: from the detail, else from the hub's index."""
    detail = found.detail
    filename = detail.wheel_filename or last_part(detail.wheel_url)
    url = detail.wheel_url or detail.wheel_download_url
    if url and detail.wheel_sha256:
        return IndexLink(url, filename, detail.wheel_sha256)
    listed = _look_up(found)
    if detail.wheel_url:
        digests = [link.sha256 for link in listed if link.filename == filename]
        return IndexLink(detail.wheel_url, filename, digests[0] if digests else None)
    fitting = (link for link in listed if _is_version(link.filename, detail.semantic_version))
    return next(fitting, None)


def _look_up(found: LocatedEnvironment) -> list[IndexLink]:
    """The environment's page in the hub's simple index; empty where there is none."""
    root = found.detail.install_index_url or found.detail.simple_index_url
    if root is None:
        return []
    page = f"{root.rstrip('/')}/{normalize_name(found.detail.name)}/"
    try:
        return parse_links(*found.hub.environments.index_page(page))
    except NotFound:
        return []


def _is_version(filename: str, version: str | None) -> bool:
    try:
        _, found, _, _ = parse_wheel_filename(filename)
    except InvalidWheelFilename:
        return False
    return version is None or str(found) == version


def last_part(url: str | None) -> str:
    """The file name that a URL ends with; empty for none."""
    return unquote(urlsplit(url or "").path.rpartition("/")[2])
