"""A hub with accounts on a port of this machine, and uv and pip that install from it."""

import os
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import uv
import uvicorn

from prime_cli.hub.app import create_app
from prime_cli.hub.settings import HubSettings
from tests.helpers.database import database_of
from tests.helpers.storage import storage_for
from tests.helpers.venvs import empty_cache, venv_python
from tests.hub.pushing import Push, make_wheel, open_app
from tests.hub.routes.test_package_index import key_of

SECONDS = 300


@dataclass
class IndexHub:
    """Where it is, what it keeps, and the requests that came (`GET /path 200`)."""

    url: str
    data: Path
    seen: list[str] = field(default_factory=list)

    def publish(
        self,
        name: str,
        version: str = "0.1.0",
        *,
        owner: str = "ada",
        visibility: str = "PUBLIC",
        requires: tuple[str, ...] = (),
        day: str | None = None,
    ) -> Push:
        """Publish a wheel with one module, on a day of the past if one is named."""
        moment = datetime.fromisoformat(f"{day}T12:00:00").replace(tzinfo=UTC) if day else None
        clock: dict[str, Any] = {"clock": lambda: moment} if moment else {}
        push = Push(open_app(self.data, owner, **clock), name, version, visibility=visibility)
        push.wheel = make_wheel(name, version, requires=requires)
        return push.run()

    def index(self, owner: str = "ada", credentials: str = "") -> str:
        """The URL of an owner's index, with `user:password` in it if given."""
        host = urlsplit(self.url).netloc
        at = f"{credentials}@" if credentials else ""
        return f"http://{at}{host}/{owner}/simple/"

    def key(self, owner: str = "ada") -> str:
        return key_of(self.data, owner)

    def requests(self, method: str, ending: str) -> list[str]:
        """The paths with that ending that were answered well, in their order."""
        words = [line.split() for line in self.seen]
        return [
            p for m, p, status in words if m == method and p.endswith(ending) and status[0] == "2"
        ]


class _Recorder:
    def __init__(self, app: Any, seen: list[str]) -> None:
        self.app = app
        self.seen = seen

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        method, path = scope.get("method"), scope.get("path")

        async def record(message: Any) -> None:
            if message["type"] == "http.response.start":
                self.seen.append(f"{method} {path} {message['status']}")
            await send(message)

        await self.app(scope, receive, record)


@contextmanager
def index_hub(data: Path) -> Iterator[IndexHub]:
    """Serve the hub in `data` until the block ends."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        hub = IndexHub(f"http://127.0.0.1:{listener.getsockname()[1]}", data)
        settings = HubSettings(
            data=data,
            owner="ada",
            embedded=False,
            accounts=True,
            public_url=hub.url,
            database=database_of(data),
            storage=storage_for(data),
        )
        app = _Recorder(create_app(settings), hub.seen)
        config = uvicorn.Config(app, log_config=None, lifespan="off", ws="none")
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        while not server.started:
            time.sleep(0.01)
        yield hub
        server.should_exit = True
        thread.join(timeout=60)


@dataclass
class Installer:
    """uv or pip with a home and a cache of its own, and no other index than those it is told."""

    home: Path
    variables: dict[str, str] = field(default_factory=dict)

    def uv(self, *argv: str, cwd: Path | None = None, fails: bool = False) -> str:
        """Run uv; what it says. Raises AssertionError unless it ends as it must."""
        return self._run([uv.find_uv_bin(), *argv], cwd, fails)

    def pip(self, *argv: str, fails: bool = False) -> str:
        """Run a recent pip in a venv of its own."""
        command = [str(venv_python("pip")), "-m", "pip", "--no-input", "--isolated"]
        return self._run([*command, "--disable-pip-version-check", *argv], None, fails)

    def _run(self, argv: list[str], cwd: Path | None, fails: bool) -> str:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("UV_")}
        done = subprocess.run(
            argv,
            cwd=cwd or self.home,
            env={
                **kept,
                "HOME": str(self.home),
                "UV_CACHE_DIR": str(empty_cache(self.home / "uv-cache")),
                "UV_PYTHON_DOWNLOADS": "never",
                "PIP_CACHE_DIR": str(self.home / "pip-cache"),
                **self.variables,
            },
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=SECONDS,
            check=False,
        )
        said = done.stdout + done.stderr
        assert (done.returncode != 0) == fails, said
        return said
