"""A page has at most 150,000 bytes, however much people put into what it shows."""

import re
from html import unescape

import httpx
from starlette.testclient import TestClient

from prime_cli.pages.paging import LARGEST_PAGE

QUOTES = '"'
"""What takes the most bytes in HTML."""
_NEXT = re.compile(r'<a rel="next" href="([^"]*)"')
_MOST_PARTS = 6


def sizes(client: httpx.Client | TestClient, path: str) -> list[int]:
    """The bytes of a page, and of the first that its links to next parts lead to."""
    found: dict[str, int] = {}
    todo = [path]
    while todo and len(found) < _MOST_PARTS:
        at = todo.pop(0)
        answer = client.get(at)
        assert answer.status_code == 200, f"{at}: {answer.text[:2000]}"
        found[at] = len(answer.content)
        for link in _NEXT.findall(answer.text):
            following = unescape(link).partition("#")[0]
            if following not in found:
                todo.append(following)
    return list(found.values())


def require_bounded(client: httpx.Client | TestClient, path: str) -> None:
    """The page and its next parts are as small as pages must be."""
    largest = max(found := sizes(client, path))
    print(f"{path[:70]}: {len(found)} parts, at most {largest:,} bytes")
    assert largest <= LARGEST_PAGE, f"{path} has {largest:,} bytes"
