"""Who can make sandboxes here, and what is left of them."""

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
from tests.helpers.scripted_engine import podman, scripted_engine
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
    assert dead.fix == "start it, or unset DOCKER_HOST"
    with scripted_engine(path):
        alive = one(check_sandboxes(system(tmp_path, environ)), "sandboxes")
    assert (alive.status, str(path) in alive.sentence) == ("ok", True)


def test_an_engine_that_cannot_limit_its_containers_makes_none(tmp_path: Path) -> None:
    # As Podman answers without root on control groups of version 1, where `/info` claims root's.
    with scripted_engine(tmp_path / "e.sock", podman=podman()) as url:
        found = one(check_sandboxes(system(tmp_path, {"DOCKER_HOST": url})), "sandboxes")
    assert found.status == "warning"
    assert found.sentence.startswith("bubblewrap can make sandboxes; ")
    assert "makes none, since it cannot limit memory, CPUs and processes" in found.sentence
    assert "control groups of version 2" in (found.fix or "")


def test_an_engine_elsewhere_is_asked_and_what_differs_is_told(tmp_path: Path) -> None:
    with HTTPServer(("127.0.0.1", 0), Pong) as server:
        url = f"tcp://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        found = one(check_sandboxes(system(tmp_path, {"DOCKER_HOST": url})), "sandboxes")
        server.shutdown()
        thread.join()
    assert f"engine at {url} (on another machine, so without" in found.sentence
    by_ssh = one(check_sandboxes(system(tmp_path, {"DOCKER_HOST": "ssh://there"})), "sandboxes")
    assert (by_ssh.status, "ssh -L" in by_ssh.sentence) == ("warning", True)


class Pong(BaseHTTPRequestHandler):
    """An engine that is there."""

    def do_GET(self) -> None:
        self.send_response(200 if self.path == "/info" else 404)
        self.end_headers()
        self.wfile.write(b"{}")

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
