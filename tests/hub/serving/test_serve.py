"""`prime hub serve` as a user meets it: a process, a port, signals."""

import socket
from pathlib import Path

from tests.helpers.cli import prime_process
from tests.helpers.serving import serve


def test_admin_key_is_printed_at_the_first_start_only(tmp_path: Path) -> None:
    with serve(tmp_path / "hub", "--admin", "root") as hub:
        assert set(hub.variables) == {
            "PRIME_API_BASE_URL",
            "PRIME_FRONTEND_URL",
            "PRIME_API_KEY",
            "PRIME_TRACES_OPT_OUT",
        }
        assert hub.key not in hub.err.read_text()
        with hub.client() as client:
            assert client.get("/api/v1/user/whoami").json()["data"]["slug"] == "root"
        assert hub.stop() == 0
    with serve(tmp_path / "hub") as again:
        assert again.out.read_text() == ""
        assert "PRIME_API_KEY" not in again.variables


def test_taken_port_is_told_before_anything_is_served(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        done = prime_process("hub", "serve", "--data", str(tmp_path / "hub"), "--port", port)
    assert (done.code, done.out) == (7, "")
    assert f"Port {port} of 127.0.0.1 is taken" in done.err
    assert not (tmp_path / "hub").exists()


def test_files_that_are_no_certificate_are_told(tmp_path: Path) -> None:
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    for path in (cert, key):
        path.write_text("nothing")
    argv = ("--port", "0", "--tls-cert", str(cert), "--tls-key", str(key))
    done = prime_process("hub", "serve", "--data", str(tmp_path / "hub"), *argv)
    assert done.code == 2
    assert "are no certificate and its key" in done.err
