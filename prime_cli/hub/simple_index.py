"""Package index pages: HTML of PEP 503, JSON of PEP 691 with the fields of PEP 700."""

from collections.abc import Iterable
from dataclasses import dataclass
from html import escape
from typing import Any
from urllib.parse import quote

JSON_TYPE = "application/vnd.pypi.simple.v1+json"
HTML_TYPE = "text/html"


@dataclass(frozen=True)
class IndexedWheel:
    """One wheel on a page; `url` may be relative to the page."""

    filename: str
    url: str
    sha256: str
    size: int
    version: str
    requires_python: str
    uploaded_at: str


def project_html(name: str, wheels: Iterable[IndexedWheel]) -> str:
    """The page of one project."""
    return _page(f"Links for {name}", [_link(wheel) for wheel in wheels])


def project_json(name: str, wheels: list[IndexedWheel]) -> dict[str, Any]:
    """The same page as JSON."""
    return {
        "meta": {"api-version": "1.1"},
        "name": name,
        "versions": sorted({wheel.version for wheel in wheels}),
        "files": [
            {
                "filename": wheel.filename,
                "url": wheel.url,
                "hashes": {"sha256": wheel.sha256},
                "size": wheel.size,
                "requires-python": wheel.requires_python,
                "upload-time": wheel.uploaded_at,
            }
            for wheel in wheels
        ],
    }


def root_html(names: Iterable[str]) -> str:
    """The list of projects; links are relative to a page that ends in a slash."""
    return _page(
        "Simple index", [f'<a href="{quote(name)}/">{escape(name)}</a><br>' for name in names]
    )


def root_json(names: Iterable[str]) -> dict[str, Any]:
    """The same list as JSON."""
    return {
        "meta": {"api-version": "1.1"},
        "projects": [{"name": name} for name in names],
    }


def _link(wheel: IndexedWheel) -> str:
    href = escape(f"{wheel.url}#sha256={wheel.sha256}")
    python = escape(wheel.requires_python)
    asks = f' data-requires-python="{python}"' if python else ""
    return f'<a href="{href}"{asks}>{escape(wheel.filename)}</a><br>'


def _page(title: str, lines: list[str]) -> str:
    return "\n".join(
        [
            "<!DOCTYPE html>",
            '<html><head><meta name="pypi:repository-version" content="1.0">',
            f"<title>{escape(title)}</title></head><body>",
            *lines,
            "</body></html>",
            "",
        ]
    )
