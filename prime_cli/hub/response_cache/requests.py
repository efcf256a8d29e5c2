"""Which requests the cache answers, and what each is about."""

import re
from functools import lru_cache
from typing import NamedTuple

from starlette.types import Scope

from prime_cli.core.refs import normalize_name
from prime_cli.hub.headers import choose_form, read_accept
from prime_cli.hub.urls import API

_PART = "([^/]+)"
_ENVIRONMENT = re.compile(
    f"{API}/environmentshub/{_PART}/{_PART}/(?:@[^/]+|status|versions)/?"
    f"|/files/{_PART}/{_PART}/[^/]+/[^/]+\\.metadata"
)
_INDEX = re.compile(f"/{_PART}/simple/(?:{_PART}/)?|/{_PART}/{_PART}/simple/(?:[^/]+/)?")
_FILE = re.compile(f"/files/{_PART}/{_PART}/[0-9a-f]{{64}}/[^/]+")
_LONGEST = 500
CREDENTIALS = frozenset({b"authorization", b"cookie"})
"""Headers that identify a person."""


class CacheSubject(NamedTuple):
    """The subject of a page: an environment, or everything of an owner if `name` is None."""

    owner: str
    name: str | None


class CacheAddress(NamedTuple):
    """One representation of one page; equal ones are answered with equal bytes.

    `form` is the caller's preferred media type if there are several, else "". A file is never
    packed.
    """

    path: str
    form: str
    gzip: bool
    subject: CacheSubject
    is_file: bool
    is_index: bool


class CacheRequest(NamedTuple):
    """The request headers that matter here; `anonymous` if nothing identifies a person.

    `whole` is false for a range of a file.
    """

    accept: str
    encoding: str
    if_none_match: str
    anonymous: bool
    whole: bool


def find_address(scope: Scope, wanted: CacheRequest) -> CacheAddress | None:
    """The page that a request is for; None if it is not cacheable.

    Addresses with a query are not cached: anyone can invent any number of them.
    """
    path: str = scope["path"]
    if scope["query_string"] or len(path) > _LONGEST:
        return None
    subject, kind = _read_path(path)
    if kind is _FILE:
        return CacheAddress(path, "", gzip=False, subject=subject, is_file=True, is_index=False)
    form = choose_form(wanted.accept) if kind is _INDEX else ""
    if kind is None or form is None:
        return None
    gzip = accepts_gzip(wanted.encoding)
    return CacheAddress(path, form, gzip, subject, is_file=False, is_index=kind is _INDEX)


def read_cache_request(scope: Scope) -> CacheRequest:
    """What the headers say; several `Accept` are one list (RFC 9110)."""
    accept, encoding, if_none_match, anonymous, whole = "", "", "", True, True
    for name, value in scope["headers"]:
        match name:
            case b"accept":
                text = value.decode("latin-1")
                accept = f"{accept},{text}" if accept else text
            case b"accept-encoding":
                encoding = value.decode("latin-1")
            case b"if-none-match":
                if_none_match = value.decode("latin-1")
            case b"range":
                whole = False
            case _ if name in CREDENTIALS:
                anonymous = False
    return CacheRequest(accept, encoding, if_none_match, anonymous, whole)


@lru_cache(maxsize=512)
def accepts_gzip(encoding: str) -> bool:
    """Whether the header `Accept-Encoding` allows gzip by name."""
    return any(name == "gzip" and quality > 0 for name, quality in read_accept(encoding))


@lru_cache(maxsize=4096)
def _read_path(path: str) -> tuple[CacheSubject, re.Pattern[str] | None]:
    """The subject of a path, and the pattern it matches, if any."""
    for kind in (_ENVIRONMENT, _FILE, _INDEX):
        if found := kind.fullmatch(path):
            owner, name = (*(part for part in found.groups() if part is not None), None)[:2]
            return CacheSubject(owner or "", name and normalize_name(name)), kind
    return CacheSubject("", None), None
