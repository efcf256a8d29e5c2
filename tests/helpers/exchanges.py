"""One request as a hub is known to take it, and what is wrong with one that differs."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import httpx


def keys(text: str) -> frozenset[str]:
    """The words of a text."""
    return frozenset(text.split())


@dataclass(frozen=True)
class Body:
    """The keys of a JSON object: those that are always sent, and those that may be."""

    always: frozenset[str]
    sometimes: frozenset[str] = frozenset()

    def find_fault(self, body: Any, where: str) -> str | None:
        """What is wrong with a body, None if nothing."""
        if not isinstance(body, dict):
            return f"{where} is no object"
        if missing := self.always - body.keys():
            return f"{where} lacks {sorted(missing)}"
        if unknown := body.keys() - self.always - self.sometimes:
            return f"{where} has unknown {sorted(unknown)}"
        return None


@dataclass(frozen=True)
class Exchange:
    """One request as it is known, and its answer. `{}` in the path stands for one part of it.

    Without a `body` none is sent. `anonymous` says that the request never carries a key.
    """

    method: str
    path: str
    answer: Any
    query: frozenset[str] = frozenset()
    body: Body | None = None
    metadata: Body | None = None
    headers: dict[str, str] = field(default_factory=dict)
    anonymous: bool = False

    def fits(self, method: str, path: str) -> bool:
        pattern = "[^/]+".join(map(re.escape, self.path.split("{}")))
        return method == self.method and re.fullmatch(pattern, path) is not None

    def find_faults(self, request: httpx.Request) -> Iterable[str | None]:
        """What nobody has seen the public hub take; None for each part that is right."""
        if unknown := set(request.url.params.keys()) - self.query:
            yield f"the query has unknown {sorted(unknown)}"
        keyed = "authorization" in request.headers
        if keyed == self.anonymous:
            yield "the key goes where it never goes" if keyed else "the key is missing"
        for name, value in self.headers.items():
            if request.headers.get(name) != value:
                yield f"{name} is {request.headers.get(name)!r}, not {value!r}"
        yield from self._faults_of_body(request)

    def _faults_of_body(self, request: httpx.Request) -> Iterable[str | None]:
        if self.method == "PUT" and self.anonymous:
            return
        if self.body is None:
            yield "there is a body" if request.content else None
            return
        if request.headers.get("content-type") != "application/json":
            yield "the body is not said to be JSON"
        body = httpx.Response(200, content=request.content).json()
        yield self.body.find_fault(body, "the body")
        if self.metadata is not None:
            yield self.metadata.find_fault(body["metadata"], "the metadata")
