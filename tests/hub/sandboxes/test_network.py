"""What a running sandbox reaches, as it is changed by the egress policy of the sandbox API."""

import asyncio
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest

from prime_cli.core.errors import PrimeError
from prime_cli.hub.sandboxes import internet
from prime_cli.hub.sandboxes.bubblewrap.provider import BubblewrapProvider
from prime_cli.hub.sandboxes.provider import SandboxSpec
from tests.helpers.engines import podman_with_python
from tests.helpers.local_pods import wait_until
from tests.helpers.sandboxes import API, IMAGE, Inside, create, sandbox_hub
from tests.helpers.tools import needs_bubblewrap, needs_root

NOTHING: dict[str, list[str] | None] = {"allowlist": [], "denylist": None}


class Index(BaseHTTPRequestHandler):
    """A package index on loopback."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Nothing."""


@pytest.fixture
def index(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The address of the package index that this machine is set to."""
    with HTTPServer(("127.0.0.1", 0), Index) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        host = f"127.0.0.1:{server.server_port}"
        monkeypatch.setenv("UV_DEFAULT_INDEX", f"http://{host}/simple")
        yield host
        server.shutdown()
        thread.join()


def change(hub: httpx.Client, made: dict[str, Any], **body: Any) -> httpx.Response:
    """The answer to a change of what a sandbox reaches."""
    return hub.put(f"{API}/sandbox/{made['id']}/egress-policy", json=body)


def reaches(inside: Inside, host: str) -> bool:
    """Whether a new program inside gets a page of `host`."""
    line = f"import urllib.request as r; r.urlopen('http://{host}/', timeout=5)"
    return bool(inside.run(f'python -c "{line}"')["exit_code"] == 0)


def check_changes(hub: httpx.Client, index: str) -> None:
    """Give a sandbox without network the package indexes, take them away, and look each time."""
    made = create(hub, network="none")
    inside = Inside(hub, made["id"])
    assert not reaches(inside, index)
    given = change(hub, made, network="packages").json()
    assert index in given["policy"]["allowlist"]
    assert (given["network"], given["generation"], given["applied"]) == ("packages", 2, True)
    assert reaches(inside, index)
    change(hub, made, allowlist=["files.example.org"])
    assert not reaches(inside, index)
    change(hub, made, allowlist=[index])
    assert reaches(inside, index)
    taken = change(hub, made, allowlist=[]).json()
    assert (taken["policy"], taken["network"], taken["generation"]) == (NOTHING, "none", 5)
    assert not reaches(inside, index)
    assert hub.get(f"{API}/sandbox/{made['id']}/egress-policy").json() == taken
    shown = hub.get(f"{API}/sandbox/{made['id']}").json()
    assert (shown["networkAllowlist"], shown["networkAccess"]) == ([], False)
    assert shown["advancedConfigs"]["network"] == "none"


@needs_bubblewrap
def test_a_sandbox_reaches_what_its_policy_says_now(tmp_path: Path, index: str) -> None:
    with sandbox_hub(tmp_path) as hub:
        check_changes(hub, index)


@pytest.mark.slow
@needs_root
def test_a_container_reaches_what_its_policy_says_now(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, index: str
) -> None:
    monkeypatch.setenv("CONTAINER_HOST", podman_with_python().url)
    with sandbox_hub(tmp_path, "engine") as hub:
        check_changes(hub, index)
        made = create(hub, network="none")
        refused = change(hub, made, network="internet")
        assert (refused.status_code, "only when it is created" in refused.text) == (422, True)
        assert "choose bubblewrap" in refused.json()["hint"]


@needs_bubblewrap
def test_a_change_that_cannot_be_is_refused_with_the_reason(tmp_path: Path) -> None:
    with sandbox_hub(tmp_path) as hub:
        made = create(hub, network="none")
        for body, said in (
            ({}, "Name one of"),
            ({"allowlist": ["a.test"], "network": "none"}, "Name one of"),
            ({"denylist": ["a.test"]}, "cannot block single hosts"),
            ({"allowlist": ["10.0.0.0/8"]}, "not the name of a host"),
            ({"network": "everything"}, "is not a network"),
        ):
            answer = change(hub, made, **body)
            assert (answer.status_code, said in answer.json()["detail"]) == (422, True), body
        assert hub.get(f"{API}/sandbox/{made['id']}/egress-policy").json()["policy"] == NOTHING
        hub.delete(f"{API}/sandbox/{made['id']}")
        gone = change(hub, made, allowlist=[])
        assert (gone.status_code, "it is TERMINATED" in gone.text) == (409, True)


@needs_bubblewrap
def test_a_change_during_which_the_sandbox_ends_leaves_nothing_open() -> None:
    spec = SandboxSpec("prime-test-change", "change", IMAGE, time.time() + 60, network="none")

    async def scenario() -> None:
        sandbox = await BubblewrapProvider().create(spec)
        changed = msgspec.structs.replace(spec, network="packages")
        changing = asyncio.create_task(sandbox.change_network(changed))
        await asyncio.sleep(0.005)
        await sandbox.end()
        with pytest.raises(PrimeError):
            await changing

    asyncio.run(scenario())


# Instead of slirp4netns: it is ready at once, and then has much to say.
_TALKS = """#!/bin/bash
for word; do case $word in --ready-fd=*) eval "echo >&${word#*=}";; esac; done
head -c 1000000 /dev/zero >&2
touch {}
exec sleep 60
"""


@needs_bubblewrap
def test_what_connects_a_sandbox_may_say_as_much_as_it_likes(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    program, said = tmp_path / "slirp4netns", tmp_path / "said"
    program.write_text(_TALKS.replace("{}", str(said)))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    spec = SandboxSpec("prime-test-talk", "talk", IMAGE, time.time() + 60, network="none")

    async def scenario() -> None:
        sandbox = await BubblewrapProvider().create(spec)
        try:
            uplink = await internet._connect(sandbox.network._pid)
            await asyncio.to_thread(wait_until, said.exists, what="it has said everything")
            await asyncio.wait_for(uplink.end(), 20)
        finally:
            await sandbox.end()

    asyncio.run(scenario())
