"""A headless Chromium over its DevTools protocol: opens a file, runs scripts in it."""

import asyncio
import json
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp

from tests.helpers.tools import require

_NAMES = ("chromium", "chromium-browser", "google-chrome")
_PATIENCE = 120.0
"""Seconds; the machine may be busy."""

_FLAGS = (
    "--headless=new --no-sandbox --disable-gpu --disable-dev-shm-usage --no-first-run "
    "--disable-background-networking --remote-debugging-port=0"
).split()


def chromium() -> str:
    """The browser of this machine; the test is skipped without one, and fails so under CI."""
    return require(*_NAMES)


class Page:
    """One open page. `errors` are what its console and its security policy complained of."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self.errors: list[str] = []
        self.requests: list[str] = []
        self._socket = socket
        self._number = 0

    async def call(self, method: str, **params: Any) -> dict[str, Any]:
        """One call of the protocol; what the browser tells meanwhile is kept."""
        self._number += 1
        await self._socket.send_json({"id": self._number, "method": method, "params": params})
        while True:
            told = json.loads((await self._socket.receive(_PATIENCE)).data)
            if told.get("id") == self._number:
                assert "error" not in told, told
                return dict(told["result"])
            self._keep(told)

    async def run(self, script: str) -> Any:
        """The value of `script`, awaited where it is a promise."""
        told = await self.call(
            "Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True
        )
        assert "exceptionDetails" not in told, told
        return told["result"].get("value")

    async def until(self, condition: str) -> None:
        """Wait until the script `condition` is true."""
        async with asyncio.timeout(_PATIENCE):
            while not await self.run(condition):  # noqa: ASYNC110 only the page knows
                await asyncio.sleep(0.05)

    async def open(self, path: Path) -> None:
        """Load the file and wait for its scripts."""
        for part in ("Page", "Runtime", "Log", "Network"):
            await self.call(f"{part}.enable")
        await self.call("Page.navigate", url=path.as_uri())
        await self.until(f"location.href.startsWith('{path.as_uri()}')")
        await self.until("document.readyState === 'complete'")

    def _keep(self, told: dict[str, Any]) -> None:
        params = told.get("params", {})
        match told.get("method"):
            case "Runtime.exceptionThrown":
                self.errors.append(str(params["exceptionDetails"]))
            case "Log.entryAdded":
                self.errors.append(params["entry"]["text"])
            case "Network.requestWillBeSent":
                self.requests.append(params["request"]["url"])


@asynccontextmanager
async def browsing(profile: Path) -> AsyncIterator[Page]:
    """A page of a new browser, whose files are below `profile`; it ends with the block."""
    process = await asyncio.create_subprocess_exec(
        chromium(), *_FLAGS, f"--user-data-dir={profile}", "about:blank",
        stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL,
    )  # fmt: skip
    try:
        port = await _port(profile / "DevToolsActivePort")
        async with aiohttp.ClientSession() as session:
            async with session.get(f"http://127.0.0.1:{port}/json/list") as answer:
                pages = await answer.json()
            address = next(each for each in pages if each["type"] == "page")
            url = address["webSocketDebuggerUrl"]
            async with session.ws_connect(url, max_msg_size=1 << 28) as socket:
                yield Page(socket)
    finally:
        # Its socket has a folder of its own in the system's folder for such, and stays there.
        folder = (profile / "SingletonSocket").resolve().parent
        process.terminate()
        await process.wait()
        if folder.name.startswith("org.chromium."):
            shutil.rmtree(folder, ignore_errors=True)


async def _port(path: Path) -> str:
    async with asyncio.timeout(_PATIENCE):
        while not (port := _first_line(path)):  # noqa: ASYNC110 a file is how it tells
            await asyncio.sleep(0.05)
    return port


def _first_line(path: Path) -> str:
    return path.read_text(encoding="ascii").partition("\n")[0] if path.is_file() else ""
