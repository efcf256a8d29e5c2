"""Every request has an id, a line and a count, also those that fail."""

import os
from collections.abc import Iterator

import msgspec
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from prime_cli.hub.context import Caller
from prime_cli.hub.serving.access_log import AccessLog, LogFormat
from prime_cli.hub.serving.monitoring import Metrics
from prime_cli.hub.serving.observability import ObservabilityMiddleware, templates_of
from tests.hub.serving.asgi import ask


async def show(request: Request) -> Response:
    request.state.caller = Caller("ada", key_id="key_1")
    return Response(b"abc")


async def upload(request: Request) -> Response:
    await request.body()
    return Response()


ROUTES = [
    Mount("/api", routes=[Route("/{owner}/things", show)]),
    Route("/upload/{token}", upload, methods=["PUT"]),
]


class Observed:
    """An application with its log and its numbers."""

    def __init__(self, app: ASGIApp, descriptors: tuple[int, int]) -> None:
        self.log, self.metrics = AccessLog(LogFormat.JSON, descriptors[1]), Metrics()
        self._read = descriptors[0]
        self.app = ObservabilityMiddleware(
            app, templates=templates_of(ROUTES), log=self.log, metrics=self.metrics
        )

    def lines(self) -> list[dict[str, object]]:
        self.log.flush()
        return [msgspec.json.decode(line) for line in os.read(self._read, 100_000).splitlines()]

    def number(self, name: str) -> str:
        lines = self.metrics.render().decode().splitlines()
        return next(line.rpartition(" ")[2] for line in lines if line.startswith(name))


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    read, write = os.pipe()
    yield read, write
    for descriptor in (read, write):
        os.close(descriptor)


@pytest.fixture
def observed(pipe: tuple[int, int]) -> Observed:
    return Observed(Starlette(routes=ROUTES), pipe)


def test_a_request_is_logged_with_its_caller(observed: Observed) -> None:
    answer = ask(observed.app, "/api/ada/things")
    (line,) = observed.lines()
    assert (line["path"], line["status"], line["bytes"]) == ("/api/ada/things", 200, 3)
    assert (line["user"], line["key_id"]) == ("ada", "key_1")
    assert line["request_id"] == answer.headers["x-request-id"]


def test_requests_are_counted_by_route_and_not_by_what_they_name(observed: Observed) -> None:
    ask(observed.app, "/api/ada/things")
    ask(observed.app, "/api/bob/things")
    ask(observed.app, "/nowhere")
    name = 'prime_hub_requests_total{method="GET",route="%s",status="%d"}'
    assert observed.number(name % ("/api/{owner}/things", 200)) == "2.0"
    assert observed.number(name % ("-", 404)) == "1.0"
    assert observed.number("prime_hub_sent_bytes_total") == str(3.0 + 3 + len("Not Found"))


@pytest.mark.parametrize("path", ["/nowhere", "/api/nowhere", "/api/"])
def test_a_request_for_an_unknown_path_is_logged_and_counted(observed: Observed, path: str) -> None:
    assert ask(observed.app, path).status == 404
    (line,) = observed.lines()
    assert (line["path"], line["status"]) == (path, 404)
    name = 'prime_hub_requests_total{method="GET",route="-",status="404"}'
    assert observed.number(name) == "1.0"


def test_unknown_methods_are_counted_together(observed: Observed) -> None:
    for method in ("BREW", "WHEN"):
        ask(observed.app, "/nowhere", method=method)
    name = 'prime_hub_requests_total{method="OTHER",route="-",status="404"}'
    assert observed.number(name) == "2.0"


def test_plain_id_of_the_caller_is_kept(observed: Observed) -> None:
    answer = ask(observed.app, headers={"x-request-id": "trace-7.a"})
    assert answer.headers["x-request-id"] == "trace-7.a"


@pytest.mark.parametrize("given", ["", "a b", "x" * 65, 'a"b', "é"])
def test_any_other_id_is_replaced(observed: Observed, given: str) -> None:
    answer = ask(observed.app, headers={"x-request-id": given})
    assert answer.headers["x-request-id"] != given


def test_secret_of_an_upload_is_not_logged(observed: Observed) -> None:
    ask(observed.app, "/upload/s3cret", method="PUT", body=[b"x"])
    (line,) = observed.lines()
    assert line["path"] == "/upload/-"
    assert observed.number("prime_hub_uploads_in_flight") == "0.0"


def test_bug_is_answered_and_its_trace_logged(pipe: tuple[int, int]) -> None:
    async def broken(_scope: Scope, _receive: Receive, _send: Send) -> None:
        raise RuntimeError("a bug")

    observed = Observed(broken, pipe)
    answer = ask(observed.app)
    assert (answer.status, answer.json["code"]) == (500, "internal")
    (line,) = observed.lines()
    assert "RuntimeError: a bug" in str(line["error"])


def test_an_abandoned_request_is_logged_as_such(pipe: tuple[int, int]) -> None:
    async def silent(_scope: Scope, _receive: Receive, _send: Send) -> None:
        """Answers nothing."""

    observed = Observed(silent, pipe)
    ask(observed.app)
    assert observed.lines()[0]["status"] == 499
