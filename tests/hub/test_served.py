"""The same application over a socket, for any client: httpx, uv."""

import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
import uvicorn

from prime_cli.hub.app import create_app
from prime_cli.hub.settings import HubSettings
from tests.helpers.database import database_of
from tests.helpers.storage import storage_for
from tests.hub.pushing import HUB, Push, data, names


@pytest.fixture
def served(folder: Path) -> Iterator[httpx.Client]:
    """A client of a hub on a port of this machine."""
    listener = socket.create_server(("127.0.0.1", 0))
    url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    settings = HubSettings(
        data=folder,
        owner="ada",
        embedded=False,
        database=database_of(folder),
        storage=storage_for(folder),
        public_url=url,
    )
    config = uvicorn.Config(create_app(settings), log_config=None, lifespan="off", ws="none")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    with httpx.Client(base_url=url, trust_env=False) as client:
        deadline = time.monotonic() + 60
        while not server.started and time.monotonic() < deadline:
            time.sleep(0.01)
        yield client
    server.should_exit = True
    thread.join(timeout=60)
    listener.close()


def test_push_and_download_go_over_a_socket(served: httpx.Client) -> None:
    push = Push(served, code="# " + "x" * 2_000_000).run()
    assert names(served) == ["word"]
    detail = data(served.get(f"{HUB}/ada/word/@latest"))
    assert served.get(detail["wheel_url"]).content == push.wheel
    part = served.get(detail["wheel_url"], headers={"range": "bytes=1000000-1000009"})
    assert part.content == push.wheel[1000000:1000010]
    assert data(served.delete(f"{HUB}/ada/word")) == {
        "success": True,
        "message": "Deleted ada/word",
    }


def test_errors_are_problems_over_a_socket_too(served: httpx.Client) -> None:
    answer = served.get(f"{HUB}/ada/word/@latest")
    assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
    assert served.put("/upload/guess", content=bytes(1_000_000)).status_code == 404


def test_an_abandoned_download_harms_nobody(served: httpx.Client) -> None:
    push = Push(served, code="# " + "x" * 5_000_000).run()
    url = data(served.get(f"{HUB}/ada/word/@latest"))["wheel_url"]
    with served.stream("GET", url) as answer:
        next(answer.iter_raw())
    assert served.get(url).content == push.wheel


def test_private_environment_offers_only_its_sources_to_installers(served: httpx.Client) -> None:
    push = Push(served, visibility="PRIVATE").run()
    detail = data(served.get(f"{HUB}/ada/word/@latest"))
    assert detail.keys().isdisjoint({"simple_index_url", "install_index_url", "wheel_url"})
    assert served.get(detail["package_url"]).content == push.sources


def test_uv_installs_from_the_served_index(served: httpx.Client, tmp_path: Path) -> None:
    Push(served, "word-play", metadata={"python_requires": ">=3.10"}).run()
    index = data(served.get(f"{HUB}/ada/word-play/@latest"))["simple_index_url"]
    target = tmp_path / "site"
    argv = [sys.executable, "-m", "uv", "pip", "install", "--quiet", "--no-cache"]
    argv += ["--python", sys.executable, "--target", str(target)]
    subprocess.run([*argv, "--default-index", index, "word_play"], check=True)
    assert (target / "word_play.py").exists()
