"""A container engine that says of its machine what a test says, and has every image."""

import json
import socketserver
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path

ROOTS = {"MemoryLimit": True, "CpuCfsQuota": True, "PidsLimit": True}
"""What root's engine says in `/info`, and Podman's without root too."""


def podman(*controllers: str) -> dict[str, object]:
    """What Podman without root says of its control groups."""
    return {"host": {"cgroupControllers": controllers, "security": {"rootless": True}}}


@contextmanager
def scripted_engine(
    path: Path, info: Mapping[str, object] = ROOTS, podman: Mapping[str, object] | None = None
) -> Iterator[str]:
    """Its address, a Unix socket at `path`, while it answers."""
    answers = {
        "/version": {"ApiVersion": "1.41"},
        "/info": info,
        "/v1.41/info": info,
        "/v4.0.0/libpod/info": podman,
    }

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            found = {"Id": "1"} if "/images/" in self.path else answers.get(self.path)
            content = json.dumps(found or {"message": "not found"}).encode()
            self.send_response(404 if found is None else 200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            """Nothing."""

        def address_string(self) -> str:
            return "engine"

    with socketserver.ThreadingUnixStreamServer(str(path), Handler) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield f"unix://{path}"
        finally:
            server.shutdown()
            thread.join()
