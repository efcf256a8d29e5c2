"""What our commands ask of a hub that knows the published API and nothing else."""

from pathlib import Path

import pytest

from prime_cli.session import Session
from tests.helpers.cli import Prime
from tests.helpers.ssh_keys import make_key, needs_ssh_keygen, public_line
from tests.published.deviations import OF_OUR_CLIENT
from tests.published.notation import published
from tests.published.public_hub import PublicHub
from tests.published.test_reading import NEVER_ASKED

pytestmark = needs_ssh_keygen


@pytest.fixture
def hub() -> PublicHub:
    return PublicHub()


@pytest.fixture
def prime(
    hub: PublicHub,
    home: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> Prime:
    """`prime` for somebody with a key of that hub, and a key of ssh."""
    make_key(home / ".ssh")
    monkeypatch.setenv("PRIME_API_BASE_URL", "https://hub.example")
    monkeypatch.setenv("PRIME_API_KEY", "k1")
    return Prime(capfd, monkeypatch, lambda: Session(hub))


COMMANDS: dict[str, tuple[str, ...]] = {
    "availability list": (),
    "availability list, narrowed": (
        *("availability", "list", "--gpu-type", "A100_80GB", "--gpu-count", "1"),
        *("--regions", "united_states", "--regions", "canada", "--socket", "PCIe"),
        *("--provider", "runpod", "--max-price", "3", "--disks", "disk_1", "--no-group-similar"),
    ),
    "availability list, by a beginning": ("availability", "list", "--gpu-type", "a100", "--spot"),
    "availability gpu-types": (),
    "availability disks": ("availability", "disks", "--regions", "united_states"),
    "pods list": ("pods", "list", "--limit", "5", "--offset", "0"),
    "pods status": ("pods", "status", "trainer"),
    "pods status, by id": ("pods", "status", "pod_1"),
    "pods logs": ("pods", "logs", "trainer", "--tail", "5"),
    "pods history": ("pods", "history", "--limit", "5"),
    "pods ssh": ("pods", "ssh", "trainer", "--print", "--no-wait"),
    "pods terminate": ("pods", "terminate", "trainer", "--yes"),
    "disks list": (),
    "disks get": ("disks", "get", "data"),
    "disks get, by id": ("disks", "get", "disk_1"),
    "disks update": ("disks", "update", "data", "--name", "renamed"),
    "disks terminate": ("disks", "terminate", "disk_1", "--yes"),
    "ssh-keys list": (),
    "ssh-keys add": (),
    "ssh-keys set-primary": ("ssh-keys", "set-primary", "laptop"),
    "ssh-keys remove": ("ssh-keys", "remove", "laptop", "--yes"),
    "gc": ("gc", "--dry-run"),
}
"""Each command as it is typed; without words of its own it is its name."""


FOUND_IN_PAGES = {"GET /pods/{pod_id}", "GET /disks/{disk_id}"}
"""What is named by a person is looked for in the pages, by its name too."""


@pytest.mark.parametrize("name", COMMANDS)
def test_what_a_command_asks_is_published(
    name: str, hub: PublicHub, prime: Prime, home: Path
) -> None:
    hub.add_pod()
    prime("ssh-keys", "add", str(home / ".ssh/id_ed25519.pub"), "--name", "laptop").ok()
    prime("disks", "create", "--size", "100", "--name", "data", "--yes").ok()
    hub.asked.clear()
    prime(*(COMMANDS[name] or name.split())).ok()
    assert hub.faults == []
    assert hub.asked or name == "gc"
    assert OF_OUR_CLIENT == ()


RENTED: dict[str, tuple[str, ...]] = {
    "by id": ("--id", "a1b2c3"),
    "by cloud id": ("--cloud-id", "gpu_1x_a100"),
    "by what it has": ("--gpu-type", "A100_80GB", "--gpu-count", "1", "--max-price", "2"),
    "a CPU node": ("--gpu-type", "CPU_NODE"),
    "with everything": (
        *("--cloud-id", "gpu_1x_h100", "--name", "big", "--disk-size", "200", "--vcpus", "14"),
        *("--memory", "125", "--image", "cuda_12_6_pytorch_2_7", "--env", "WORD=a=b"),
        *("--team-id", "team_1", "--share-with-team"),
    ),
}


@pytest.mark.parametrize("wait", [False, True], ids=["at once", "waiting"])
@pytest.mark.parametrize("name", RENTED)
def test_what_renting_asks_is_published(
    name: str, wait: bool, hub: PublicHub, prime: Prime, monkeypatch: pytest.MonkeyPatch
) -> None:
    argv = RENTED[name]
    if name == "by id":
        listed = prime("availability", "list", "--output", "json").ok().json
        argv = ("--id", listed["gpu_resources"][0]["id"])
    prime("pods", "create", *argv, "--yes", *(["--wait"] if wait else [])).ok()
    assert hub.faults == []
    (body,) = hub.bodies("POST /pods/")
    assert body["provider"] == {"type": "lambdalabs" if "gpu_1x_h100" in argv else "runpod"}
    assert hub.bodies("POST /ssh_keys/") != []


def test_every_option_is_sent(hub: PublicHub, prime: Prime) -> None:
    prime("pods", "create", *RENTED["with everything"], "--yes").ok()
    (body,) = hub.bodies("POST /pods/")
    pod = body["pod"]
    assert (pod["name"], pod["diskSize"], pod["vcpus"], pod["memory"]) == ("big", 200, 14, 125)
    assert pod["envVars"] == [{"key": "WORD", "value": "a=b"}]
    assert body["team"] == {"teamId": "team_1"}
    assert body["shared_with_team"] is True
    assert body["sharedWithTeam"] is True


@pytest.mark.parametrize("argv", [("--for", "2h"), ("--nodes", "2")])
def test_what_only_our_hubs_know_is_refused_in_a_sentence_and_not_sent(
    argv: tuple[str, str], hub: PublicHub, prime: Prime
) -> None:
    refused = prime("pods", "create", "--cloud-id", "gpu_1x_a100", *argv, "--yes")
    assert refused.code == 2
    assert argv[0] in refused.err
    assert hub.bodies("POST /pods/") == []
    assert hub.faults == []


def test_the_public_half_of_the_key_alone_is_registered(
    hub: PublicHub, prime: Prime, home: Path
) -> None:
    prime("pods", "create", "--cloud-id", "gpu_1x_a100", "--yes").ok()
    (body,) = hub.bodies("POST /ssh_keys/")
    assert body["publicKey"].split()[:2] == public_line(home / ".ssh" / "id_ed25519").split()[:2]


def test_commands_ask_at_every_address_that_our_client_knows(
    hub: PublicHub, prime: Prime, home: Path
) -> None:
    hub.add_pod()
    prime("ssh-keys", "add", str(home / ".ssh/id_ed25519.pub"), "--name", "laptop").ok()
    prime("disks", "create", "--size", "100", "--name", "data", "--yes").ok()
    prime("pods", "create", "--cloud-id", "gpu_1x_a100", "--name", "second", "--yes").ok()
    for name, argv in COMMANDS.items():
        prime(*(argv or name.split())).ok()
    asked = {call for call, _ in hub.asked}
    every = {f"{each.method} {each.path}" for each in published().addresses}
    assert asked == every - NEVER_ASKED - FOUND_IN_PAGES
    assert hub.faults == []
