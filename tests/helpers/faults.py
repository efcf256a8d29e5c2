"""A proxy before an S3 server that can be told to fail, as networks and object stores do."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPResponse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Literal
from urllib.parse import urlsplit

Fault = Literal["500", "403", "cut", "half", "lost", "silent"]
"""An HTTP status, a connection cut before anything was done, half an answer, none although all was
done, or none for long.
"""

Matches = Callable[[str, str], bool]
"""Whether a request with this method and path meets the fault."""

SECRET_IN_ANSWERS = "AKIATESTTESTTEST"
_ERROR = f"<Error><Code>Injected</Code><AWSAccessKeyId>{SECRET_IN_ANSWERS}</AWSAccessKeyId></Error>"


class FaultyProxy(ThreadingHTTPServer):
    """Passes requests on to `upstream`, and notes them, until it is told to fail."""

    daemon_threads = True
    block_on_close = False

    def __init__(self, upstream: str) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.upstream = urlsplit(upstream).netloc
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.seen: list[tuple[str, str]] = []
        self.fault: Fault | None = None
        self.matches: Matches = _every
        self.ended = threading.Event()

    def fail(self, fault: Fault, matches: Matches | None = None) -> None:
        """Meet the matching requests with this fault from now on."""
        self.fault, self.matches = fault, matches or _every

    def heal(self) -> None:
        """Pass everything on again."""
        self.fault = None

    def handle_error(self, request: object, client_address: object) -> None:
        """Nobody need read that a client went away: that is what it is here for."""


@contextmanager
def run_faulty(upstream: str) -> Iterator[FaultyProxy]:
    """The proxy on a port of this machine, ended with the block."""
    with FaultyProxy(upstream) as proxy:
        thread = threading.Thread(target=proxy.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        yield proxy
        proxy.ended.set()
        proxy.shutdown()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: FaultyProxy

    def _meet(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        proxy = self.server
        proxy.seen.append((self.command, self.path))
        fault = proxy.fault if proxy.matches(self.command, self.path) else None
        if fault == "500" or fault == "403":  # noqa: PLR1714 - mypy reads it so
            self._answer(int(fault), _ERROR.encode())
        elif fault == "cut":
            self.close_connection = True
        elif fault == "silent":
            proxy.ended.wait(60)
            self.close_connection = True
        else:
            self._pass_on(body, fault)

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = _meet  # noqa: N815

    def _pass_on(self, body: bytes, fault: Fault | None) -> None:
        upstream = HTTPConnection(self.server.upstream, timeout=60)
        headers = {name: value for name, value in self.headers.items() if name != "connection"}
        upstream.request(self.command, self.path, body, headers)
        answer = upstream.getresponse()
        content = answer.read()
        upstream.close()
        if fault in {"half", "lost"}:
            self.close_connection = True
        if fault == "lost":
            return
        half = fault == "half"
        self._answer(answer.status, content[: len(content) // 2] if half else content, answer)

    def _answer(self, status: int, content: bytes, answer: HTTPResponse | None = None) -> None:
        self.send_response_only(status)
        for name, value in answer.getheaders() if answer else []:
            if name.lower() not in {"connection", "content-length", "transfer-encoding"}:
                self.send_header(name, value)
        length = answer.getheader("content-length") if answer else None
        self.send_header("content-length", length or str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """The tests look at `seen`."""


def _every(_method: str, _path: str) -> bool:
    return True
