"""`prime hub serve` as a user meets it: a process, a port, signals."""

import json
import socket
from pathlib import Path

import httpx
import pytest

from prime_cli.core.errors import Conflict
from prime_cli.hub.serving.ports import reserve_port
from tests.helpers.certificates import make_certificate
from tests.helpers.cli import Prime, prime_process
from tests.helpers.serving import serve
from tests.hub.pushing import Push

pytestmark = pytest.mark.slow


def test_first_admins_key_goes_to_a_file_where_stdout_may_be_a_log(tmp_path: Path) -> None:
    with serve(tmp_path / "hub", "--admin", "boss") as hub:
        assert set(hub.variables) == {
            "PRIME_API_BASE_URL",
            "PRIME_FRONTEND_URL",
            "PRIME_API_KEY",
            "PRIME_TRACES_OPT_OUT",
        }
        assert hub.key not in hub.err.read_text() + hub.out.read_text()
        file = tmp_path / "hub" / "admin.key"
        assert file.stat().st_mode & 0o777 == 0o600
        assert f"export PRIME_API_KEY=$(cat {file})" in hub.out.read_text()
        assert f"The admin's key is in {file}" in hub.err.read_text()
        with hub.client() as client:
            assert client.get("/api/v1/user/whoami").json()["data"]["slug"] == "boss"
        assert hub.stop() == 0
    with serve(tmp_path / "hub") as again:
        assert again.out.read_text() == ""
        assert "PRIME_API_KEY" not in again.variables


def test_taken_port_is_reported_before_anything_is_served(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        done = prime_process("hub", "serve", "--data", str(tmp_path / "hub"), "--port", port)
    assert (done.code, done.out) == (7, "")
    assert f"Port {port} of 127.0.0.1 is used" in done.err
    assert not (tmp_path / "hub").exists()


def test_hubs_that_start_at_the_same_time_do_not_share_a_port() -> None:
    with reserve_port("127.0.0.1", 0) as port:
        with pytest.raises(Conflict, match=f"Port {port} of 127.0.0.1 is used"):
            reserve_port("127.0.0.1", port).__enter__()
        with socket.create_server(("127.0.0.1", port), reuse_port=True):
            # As a worker does: what is reserved without listening gets no connections.
            for _ in range(20):
                socket.create_connection(("127.0.0.1", port), timeout=60).close()


def test_files_without_certificates_are_reported(tmp_path: Path) -> None:
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    for path in (cert, key):
        path.write_text("nothing")
    argv = ("--port", "0", "--tls-cert", str(cert), "--tls-key", str(key))
    done = prime_process("hub", "serve", "--data", str(tmp_path / "hub"), *argv)
    assert done.code == 2
    assert "are not a certificate and its key" in done.err


def test_an_engine_that_does_not_answer_is_reported_before_anything_is_served(
    tmp_path: Path,
) -> None:
    argv = ("--port", "0", "--local-pods")
    env = {"CONTAINER_HOST": f"unix://{tmp_path}/none.sock"}
    done = prime_process("hub", "serve", "--data", str(tmp_path / "hub"), *argv, env=env)
    assert done.code == 5
    assert f"No container engine answers at unix://{tmp_path}/none.sock" in done.err
    assert not (tmp_path / "hub" / "hub.db").exists()


def test_two_workers_answer_with_one_log_and_one_set_of_numbers(tmp_path: Path) -> None:
    with serve(tmp_path / "hub", "--workers", "2") as hub, hub.client() as client:
        Push(client).run()
        for _ in range(40):
            # A connection each, so that both workers get some.
            httpx.get(f"{hub.url}/api/v1/capabilities", trust_env=False).raise_for_status()
        numbers = client.get("/metrics").text
        assert client.get("/readyz").json() == {"status": "ready"}
        assert hub.stop() == 0
    # One more by the helper that waits for the hub.
    assert (
        'prime_hub_requests_total{method="GET",route="/api/v1/capabilities",status="200"} 41.0'
        in numbers
    )
    assert "prime_hub_publishes_total 1.0" in numbers
    lines = [json.loads(line) for line in hub.err.read_text().splitlines() if line[0] == "{"]
    assert len([line for line in lines if line["path"] == "/api/v1/capabilities"]) == 41
    assert {line["path"] for line in lines if "upload" in line["path"]} == {"/upload/-"}
    assert {line["user"] for line in lines if "finalize" in line["path"]} == {"admin"}
    assert len({line["request_id"].partition("-")[0] for line in lines}) == 2
    assert hub.key not in hub.err.read_text()


def test_hub_speaks_tls(tmp_path: Path) -> None:
    certificate = make_certificate(tmp_path)
    argv = ("--tls-cert", str(certificate.cert), "--tls-key", str(certificate.key))
    with serve(tmp_path / "hub", *argv, verify=certificate.trust) as hub:
        assert hub.url.startswith("https://")
        answer = httpx.get(f"{hub.url}/healthz", verify=certificate.trust, trust_env=False)
        assert answer.headers["strict-transport-security"] == "max-age=31536000"
        assert answer.json() == {"status": "ok"}


@pytest.mark.parametrize(
    ("argv", "warned"),
    [
        (("--host", "0.0.0.0"), True),
        (("--host", "0.0.0.0", "--trusted-proxies", "10.0.0.0/8"), False),
        (("--host", "127.0.0.1"), False),
    ],
)
def test_keys_that_travel_in_the_clear_are_warned_of(
    argv: tuple[str, ...], warned: bool, prime: Prime, tmp_path: Path
) -> None:
    # So that it ends before it serves.
    (tmp_path / "hub").write_text("no folder")
    done = prime("hub", "serve", "--data", str(tmp_path / "hub"), "--port", "0", *argv)
    assert done.code == 74
    assert ("Keys are sent to" in done.err) == warned


def test_database_that_does_not_answer_is_reported(tmp_path: Path) -> None:
    url = "postgresql://hub:s3cret@127.0.0.1:1/hub"
    argv = ("--data", str(tmp_path / "hub"), "--port", "0", "--database", url)
    done = prime_process("hub", "serve", *argv)
    assert (done.code, done.out) == (5, "")
    assert "cannot be reached" in done.err
    assert "s3cret" not in done.err


def test_options_may_be_variables(tmp_path: Path) -> None:
    env = {"PRIME_HUB_ADMIN": "boss", "PRIME_HUB_LOG_FORMAT": "none"}
    with serve(tmp_path / "hub", env=env) as hub, hub.client() as client:
        assert client.get("/api/v1/user/whoami").json()["data"]["slug"] == "boss"
        assert hub.stop() == 0
    assert "{" not in hub.err.read_text()
