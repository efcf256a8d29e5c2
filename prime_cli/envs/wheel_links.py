"""Where a published wheel lies, and with which digest, as hubs of every kind tell it."""

from urllib.parse import unquote, urlsplit

from packaging.utils import InvalidWheelFilename, parse_wheel_filename

from prime_cli.core.errors import NotFound
from prime_cli.core.refs import normalize_name
from prime_cli.envs.index_links import IndexLink, parse_links
from prime_cli.envs.lookup import Found


def find_link(found: Found) -> IndexLink | None:
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


def _look_up(found: Found) -> list[IndexLink]:
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
