"""A hub that answers from a script, and remembers exactly what it was asked."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx

Reply = Callable[[httpx.Request], httpx.Response]


@dataclass(frozen=True)
class Seen:
    """One request: `target` is the URL without the origin, `origin` scheme and host."""

    method: str
    origin: str
    target: str
    headers: httpx.Headers
    content: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.content)

    @property
    def key(self) -> str | None:
        found: str | None = self.headers.get("authorization")
        return found


@dataclass
class Replay(httpx.BaseTransport):
    """Answers `"GET /path?query"`, or `"GET http://host/path"` for hosts other than the hub.

    An answer is a JSON value, bytes, or a callable; a list of answers is used up one by one.
    What is not in the script is a 599, so that a test cannot miss it.
    """

    answers: Mapping[str, Any]
    origin: str = "https://hub.example"
    seen: list[Seen] = field(default_factory=list)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        content = request.read()
        url = request.url
        origin = f"{url.scheme}://{url.netloc.decode()}"
        target = url.raw_path.decode()
        self.seen.append(Seen(request.method, origin, target, request.headers, content))
        prefix = "" if origin == self.origin else origin
        answer = self.answers.get(f"{request.method} {prefix}{target}")
        if isinstance(answer, Turns):
            answer = answer.next()
        return _response(request, answer)

    @property
    def asked(self) -> list[str]:
        """`"GET /path?query"` of every request to the hub's own origin, in order."""
        return [f"{each.method} {each.target}" for each in self.seen if each.origin == self.origin]


class Turns:
    """A different answer each time; the last one stays."""

    def __init__(self, *answers: Any) -> None:
        self._answers = list(answers)

    def next(self) -> Any:
        return self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]


def refusal(status: int, detail: Any, *, headers: Mapping[str, str] | None = None) -> Reply:
    """An error as a hub gives it."""
    return lambda _: httpx.Response(status, json={"detail": detail}, headers=headers)


def redirect(location: str, status: int = 307) -> Reply:
    """A redirect to `location`."""
    return lambda _: httpx.Response(status, headers={"location": location})


def broken(error: type[httpx.TransportError]) -> Reply:
    """A connection that fails."""

    def fail(request: httpx.Request) -> httpx.Response:
        raise error("it broke", request=request)

    return fail


def _response(request: httpx.Request, answer: Any) -> httpx.Response:
    if answer is None:
        return httpx.Response(599, json={"detail": f"not in the script: {request.url}"})
    if callable(answer):
        return answer(request)  # type: ignore[no-any-return]
    if isinstance(answer, bytes):
        length = {"content-length": str(len(answer))}
        return httpx.Response(200, headers=length, stream=httpx.ByteStream(answer))
    return httpx.Response(200, json=answer)
