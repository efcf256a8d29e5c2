"""The network `internet`: what a sandbox reaches, and what is refused."""

import asyncio
import json
import os
import socket
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from prime_cli.core.errors import UsageError
from prime_cli.core.process import run
from prime_cli.hub.sandboxes.bubblewrap.provider import BubblewrapProvider
from prime_cli.hub.sandboxes.provider import SandboxSpec
from tests.helpers.engines import podman_with_python
from tests.helpers.sandboxes import Inside, create, sandbox_hub
from tests.helpers.tools import needs_bubblewrap, needs_root, require

pytestmark = needs_bubblewrap
BOTH = ["SOCK_STREAM", "SOCK_DGRAM"]


@needs_root
@pytest.mark.parametrize("user", [0, 65533], ids=["root", "a user"])
def test_public_addresses_are_reached_and_no_address_of_the_machine_or_its_networks(
    user: int,
) -> None:
    for program in ("slirp4netns", "nft", "unshare", "ip"):
        require(program)
    if (
        not Path("/dev/net/tun").exists()
        or not run(["unshare", "--net", "nft", "list", "tables"]).ok
    ):
        pytest.skip("this kernel has no nf_tables, or no /dev/net/tun")
    with TemporaryDirectory() as folder:
        words = [sys.executable, "-m", "tests.helpers.small_internet", folder, str(user)]
        said = run(["unshare", "--net", "--mount", *words], env=dict(os.environ), timeout=60)
    assert said.ok, said.err
    assert said.err == ""
    found = json.loads(said.out)
    # Each has a server, which the machine reaches.
    assert set(map(tuple, found["machine"].values())) == {tuple(BOTH)}
    reached = {place: kinds for place, kinds in found["reached"].items() if kinds}
    assert reached == {"1.2.3.4": BOTH, "public.test": BOTH}
    assert set(found["machine"]) < set(found["reached"])
    assert found["flush"] == 1, "code inside could remove the filter"
    assert "filtered" in found["fact"]
    assert not any(found["none"].values()), "what was taken away is still reached"
    assert {place for place, kinds in found["internet"].items() if kinds} == {"1.2.3.4"}


def test_a_machine_without_the_programs_names_their_packages(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "bwrap").symlink_to(require("bwrap"))
    monkeypatch.setenv("PATH", str(tmp_path))
    spec = SandboxSpec("prime-t-n", "0" * 32, "python:3.11", time.time() + 60, network="internet")
    check = BubblewrapProvider().check(spec, may_fetch=False)
    with pytest.raises(UsageError, match="bubblewrap needs slirp4netns and ") as caught:
        asyncio.run(check)
    assert "apt install slirp4netns " in (caught.value.hint or "")


CAP_NET_ADMIN, CAP_NET_RAW = 12, 13
REACH = "python3 -c 'import socket; socket.create_connection((\"{}\", {}), 3)'"


@pytest.mark.slow
@needs_root
def test_a_container_of_an_engine_is_filtered_too(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    nft = require("nft", "/usr/sbin/nft")
    podman = podman_with_python()
    monkeypatch.setenv("CONTAINER_HOST", podman.url)
    with (
        sandbox_hub(tmp_path, "engine") as hub,
        socket.create_server(("0.0.0.0", 0)) as server,
    ):
        made = create(hub, network="internet")
        assert "filtered" in made["advancedConfigs"]["network"]
        assert made["networkAllowlist"] is None
        inside, port = Inside(hub, made["id"]), server.getsockname()[1]
        route = inside.run("cat /proc/net/route")["stdout"].splitlines()
        gateway = socket.inet_ntoa(bytes.fromhex(route[1].split()[2])[::-1])
        assert inside.run(REACH.format(gateway, port))["exit_code"] == 1
        bounds = inside.run("grep CapBnd /proc/self/status")["stdout"].split()[1]
        assert not int(bounds, 16) & (1 << CAP_NET_RAW | 1 << CAP_NET_ADMIN)
        monkeypatch.delenv("CONTAINER_HOST")  # with it, the program has no store
        # Among those of tests that run beside this one.
        name = f"name={made['id'].replace('-', '')}"
        (tag,) = podman.run("ps", "--filter", name, "-q").split()
        pid = podman.run("inspect", "--format", "{{.State.Pid}}", tag).strip()
        assert run(
            ["nsenter", f"--target={pid}", "--net", nft, "delete", "table", "inet", "prime"]
        ).ok
        assert inside.run(REACH.format(gateway, port))["exit_code"] == 0, "nothing was filtered"
