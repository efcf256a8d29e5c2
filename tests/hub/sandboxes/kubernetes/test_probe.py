"""Whether a cluster filters the network of its pods is tried by an image that is not an owner's."""

import asyncio
import socket
import subprocess
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from prime_cli.core.errors import UsageError
from prime_cli.hub.sandboxes.kubernetes.manifests import OPEN, UNTRIED, probe_container
from prime_cli.hub.sandboxes.kubernetes.provider import KubernetesProvider
from tests.helpers.kubernetes import ScriptedCluster, probed, waiting
from tests.helpers.tools import needs, require
from tests.hub.sandboxes.kubernetes.clusters import a_spec, failure_of, refusal_of, with_provider

pytestmark = needs("unshare")

UNFILTERED = [
    ([probed(1)], "does not filter the network", "Cilium or Calico"),
    ([probed(3)], "has no `nc` like busybox's", "PRIME_KUBERNETES_PROBE_IMAGE"),
    (
        [probed(128, "StartError", "exec: /bin/sh: no such file")],
        "StartError: exec: /bin/sh: no such file",
        "PRIME_KUBERNETES_PROBE_IMAGE",
    ),
    ([probed(127)], "/bin/sh cannot be started (exit code 127)", "PRIME_KUBERNETES_PROBE_IMAGE"),
    (
        [waiting("ImagePullBackOff", "no such image", container="probe")],
        "no such image",
        "PRIME_KUBERNETES_PROBE_IMAGE",
    ),
]


@pytest.mark.parametrize(("states", "words", "hint"), UNFILTERED, ids=lambda each: str(each)[:20])
def test_a_network_that_is_not_seen_to_be_filtered_is_refused_before(
    cluster: ScriptedCluster, states: list[dict[str, Any]], words: str, hint: str
) -> None:
    cluster.states = states
    for error in (failure_of(), refusal_of(a_spec())):
        assert isinstance(error, UsageError)
        assert words in error.message
        assert hint in (error.hint or "")
        assert cluster.kinds() == []


def test_the_word_of_the_cluster_counts_not_that_of_an_image(cluster: ScriptedCluster) -> None:
    """A pod of ours is tried, once, and each pod by an image that is not its owner's."""

    async def work(provider: KubernetesProvider) -> None:
        for _ in range(2):
            await provider.check(a_spec(image="liar"), may_fetch=True)

    with_provider(work)
    tried, _policy = cluster.made
    spec = tried["spec"]["template"]["spec"]
    containers = [*spec["initContainers"], *spec["containers"]]
    assert {each["image"] for each in containers} == {"busybox:1.37"}
    assert cluster.kinds() == []


def test_a_cluster_that_is_full_tells_that_its_network_is_not_tried_yet(
    cluster: ScriptedCluster,
) -> None:
    cluster.states = [{"phase": "Pending"}]

    async def work(provider: KubernetesProvider) -> tuple[str, ...]:
        return await provider.check(a_spec(), may_fetch=True)

    assert "its network is tried only as it starts" in with_provider(work, 0.2)[-1]


@pytest.mark.parametrize("state", [{"phase": "Pending"}, probed(OPEN)], ids=["full", "open"])
def test_creations_that_come_together_wait_for_one_probe(
    cluster: ScriptedCluster, state: dict[str, Any]
) -> None:
    cluster.states = [state]

    async def work(provider: KubernetesProvider) -> list[object]:
        checks = (provider.check(a_spec(), may_fetch=True) for _ in range(5))
        return list(await asyncio.gather(*checks, return_exceptions=True))

    said = with_provider(work, 0.2)
    assert len(set(map(str, said))) == 1
    assert [each["kind"] for each in cluster.made] == ["Job", "NetworkPolicy"]


@needs("busybox")
@pytest.mark.parametrize(
    ("code", "late"),
    [(0, 0.0), (OPEN, 0.0), (OPEN, 0.5), (UNTRIED, 0.0)],
    ids=["filtered", "open", "open, and slow to listen", "no nc"],
)
def test_a_probe_ends_well_once_it_reaches_the_api_no_more(
    tmp_path: Path, code: int, late: float
) -> None:
    container = probe_container("busybox", {})
    busybox = require("busybox")
    hasty = tmp_path / "sleep"
    slept = tmp_path / "slept"
    hasty.write_text(f"#!{busybox} sh\necho $1 >>{slept}\n{busybox} sleep 0.1\n", "utf-8")
    hasty.chmod(0o755)
    if code != UNTRIED:
        nc = tmp_path / "nc"
        pause = f'[ "$1" != -l ] || {busybox} sleep {late}'
        nc.write_text(f'#!{busybox} sh\n{pause}\nexec {busybox} nc "$@"\n', "utf-8")
        nc.chmod(0o755)
    with socket.create_server(("127.0.0.1", 0)) as api:
        place = {"HOST": "127.0.0.1", "PORT": str(api.getsockname()[1])}
        variables = {f"KUBERNETES_SERVICE_{name}": value for name, value in place.items()}
        serving = threading.Thread(target=_serve, args=(api, 1 if code == 0 else 99))
        serving.start()
        done = subprocess.run(
            [busybox, "sh", *container["command"][1:]],
            env={"PATH": str(tmp_path), **variables},
            timeout=60,
            check=False,
        )
        with suppress(OSError):
            api.shutdown(socket.SHUT_RDWR)
        serving.join()
    assert done.returncode == code
    if code == 0:
        # One that is reached, and three that are refused at once: a second each.
        pauses = slept.read_text("utf-8").split()
        assert pauses[0] == "0.2"
        assert [each for each in pauses if each != "0.2"] == ["1", "1", "1", "1"]


def _serve(api: socket.socket, most: int) -> None:
    """Take connections until there were `most`, or the socket is shut."""
    with suppress(OSError):
        for _ in range(most):
            api.accept()[0].close()
        api.close()
