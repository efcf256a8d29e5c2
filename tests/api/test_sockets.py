"""The whole of the client once over real sockets, against the real hub."""

import socket
from pathlib import Path

import pytest

from prime_cli.api.client import HubClient
from prime_cli.core.digests import digest_file
from prime_cli.core.errors import NotFound, Unreachable, UsageError
from prime_cli.core.progress import Silent
from prime_cli.core.refs import EnvRef
from prime_cli.wire.locks import Lock
from tests.helpers.hubs import publish
from tests.helpers.served import served_hub

TINY = EnvRef("ada", "tiny-env", "0.1.0")


def test_publish_read_download_lock_and_delete(tmp_path: Path) -> None:
    with served_hub(tmp_path / "hub") as url:
        hub = HubClient(url, key="k1")
        assert publish(hub, tmp_path) == TINY
        assert hub.accounts.whoami().slug == "ada"
        assert "locks" in hub.capabilities().features
        detail = hub.environments.get(TINY)
        assert detail.wheel_url is not None
        assert detail.wheel_url.startswith(url)
        target = tmp_path / "down" / "w.whl"
        hub.environments.download(
            detail.wheel_url, target, sha256=detail.wheel_sha256, progress=Silent()
        )
        assert digest_file(target) == detail.wheel_sha256
        lock = Lock(1, digest_file(target), "0.1.14", "v0", "3.11", "date", packages=())
        assert hub.locks.get(TINY) is None
        hub.locks.put(TINY, lock)
        assert hub.locks.get(TINY) == lock
        hub.environments.delete(TINY)
        with pytest.raises(NotFound):
            hub.environments.get(TINY)
        hub.close()


def test_a_port_where_nobody_listens_is_unreachable() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    hub = HubClient(f"http://127.0.0.1:{port}", attempts=1)
    with pytest.raises(Unreachable, match=rf"127\.0\.0\.1:{port} cannot be reached"):
        hub.accounts.whoami()
    hub.close()


@pytest.mark.parametrize(
    ("name", "value"),
    [("SSL_CERT_FILE", "/nowhere.pem"), ("ALL_PROXY", "gopher://a:1"), ("ALL_PROXY", "socks5://a")],
)
def test_variables_that_cannot_be_used_are_no_bug_of_ours(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(UsageError, match="proxies or certificates cannot be used"):
        HubClient("http://hub.example.org").accounts.whoami()
