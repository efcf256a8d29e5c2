"""Addresses of the pages, quoted, as their templates and the hub write them."""

from collections.abc import Mapping
from urllib.parse import quote, urlencode

CATALOGUE = "/"
COMPARISON = "/dashboard/compare"


def environment_path(slug: str, tab: str = "", version: str = "") -> str:
    """The page of an environment, one of its tabs, or that tab of another version."""
    at = f"/@{quote(version, safe='')}" if version else ""
    return f"/dashboard/environments/{quote(slug)}{at}{'/' + tab if tab else ''}"


def files_path(slug: str, version: str) -> str:
    """Where the pages of a version's files are; ends in a slash."""
    return environment_path(slug, "files/", version)


def raw_path(slug: str, version: str, path: str) -> str:
    """All of a file of a version, as text."""
    return environment_path(slug, "raw/", version) + quote(path)


def file_path(files: str, path: str) -> str:
    """The page of a file below `files`, an address of `files_path`."""
    return files + quote(path)


def evaluation_path(evaluation_id: str) -> str:
    """The page of an evaluation."""
    return f"/dashboard/evaluations/{quote(evaluation_id, safe='')}"


def sample_path(evaluation: str, number: int) -> str:
    """The page of a sample below `evaluation`, an address of its evaluation."""
    return f"{evaluation}/samples/{number}"


def comparison_path(evaluation_id: str) -> str:
    """Where to choose what an evaluation is compared with."""
    return f"{COMPARISON}?{urlencode({'evaluation': evaluation_id})}"


def catalogue_path(**query: str | None) -> str:
    """The list of environments with these filters; empty ones are left out."""
    given = urlencode({name: value for name, value in query.items() if value})
    return f"{CATALOGUE}?{given}" if given else CATALOGUE


_MOST_DIGITS = 9


def whole_number(text: str) -> int | None:
    """The number in a part of an address; None for what is none, and for a longer one."""
    is_number = text.isascii() and text.isdecimal() and len(text) <= _MOST_DIGITS
    return int(text) if is_number else None


def page_number(query: Mapping[str, str]) -> int:
    """The page that an address names, from 1; the first for what is no number."""
    return min(whole_number(query.get("page", "")) or 1, _LAST_PAGE)


_LAST_PAGE = 999_999
