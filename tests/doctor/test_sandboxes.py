"""Who can make sandboxes here, and what is left of them."""

import socket
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from prime_cli.core.errors import UsageError
from prime_cli.doctor import sandboxes
from prime_cli.doctor.sandboxes import check_sandboxes
from prime_cli.envs.project.starters import mark_published
from tests.doctor.systems import one, system
from tests.helpers.hubs import open_hub
from tests.helpers.sandboxes import create, sandbox_hub
from tests.helpers.tools import needs_bubblewrap

pytestmark = needs_bubblewrap


def test_bubblewrap_is_tried_and_its_limits_are_told(tmp_path: Path) -> None:
    found = check_sandboxes(system(tmp_path))
    assert "bubblewrap can make sandboxes; none is running" in one(found, "sandboxes").sentence
    limits = one(found, "limits")
    assert limits.status in ("ok", "warning")
    assert "memory" in limits.sentence.lower()


def test_an_engine_is_asked_whether_it_is_there(tmp_path: Path) -> None:
    path = tmp_path / "e.sock"
    environ = {"DOCKER_HOST": f"unix://{path}"}
    dead = one(check_sandboxes(system(tmp_path, environ)), "sandboxes")
    assert dead.status == "warning"
    assert "does not answer" in dead.sentence
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        server.listen()

        def answer() -> None:
            with server.accept()[0] as connection:
                connection.recv(1000)
                connection.sendall(b"HTTP/1.0 200 OK\r\ncontent-length: 2\r\n\r\nOK")

        thread = threading.Thread(target=answer)
        thread.start()
        alive = one(check_sandboxes(system(tmp_path, environ)), "sandboxes")
        thread.join()
    assert (alive.status, str(path) in alive.sentence) == ("ok", True)


def test_an_engine_elsewhere_is_asked_and_what_differs_is_told(tmp_path: Path) -> None:
    with HTTPServer(("127.0.0.1", 0), Pong) as server:
        url = f"tcp://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.handle_request)
        thread.start()
        found = one(check_sandboxes(system(tmp_path, {"DOCKER_HOST": url})), "sandboxes")
        thread.join()
    assert f"engine at {url} (on another machine, so without" in found.sentence
    by_ssh = one(check_sandboxes(system(tmp_path, {"DOCKER_HOST": "ssh://there"})), "sandboxes")
    assert (by_ssh.status, "ssh -L" in by_ssh.sentence) == ("warning", True)


class Pong(BaseHTTPRequestHandler):
    """An engine that is there."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Nothing."""


def test_a_machine_without_either_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_folder: Path, *, network: bool) -> None:
        del network
        raise UsageError("`--sandbox` needs bubblewrap, which this system does not have")

    monkeypatch.setattr(sandboxes, "find_sandbox", refuse)
    monkeypatch.setattr(sandboxes, "find_engine", lambda _environ: None)
    found = one(check_sandboxes(system(tmp_path)))
    assert found.status == "warning"
    assert "get no sandbox here: neither Podman nor Docker is running; it needs" in found.sentence


def test_sandboxes_that_run_are_counted_and_none_is_started(home: Path, tmp_path: Path) -> None:
    data = home / ".prime" / "hub"
    mark_published(data)
    with sandbox_hub(data) as hub:
        create(hub)
        here = system(tmp_path, box=lambda: open_hub(data))
        assert "; 1 is running" in one(check_sandboxes(here), "sandboxes").sentence
