"""What code in a sandbox tries: nothing outside is touched, and its supervisor lives on.

Each on every provider whose commands run on this machine, with a hub of root's and of a user who
has nothing but its own folder. What a provider does not hold is said by the sandbox itself.
"""

import re
import shutil
import socket
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.helpers.engines import podman_with_python
from tests.helpers.sandboxes import API, IMAGE, Inside, create, ended_supervisor
from tests.helpers.serving import serve
from tests.helpers.tools import needs_bubblewrap, needs_root

pytestmark = [
    pytest.mark.slow,
    needs_bubblewrap,
    needs_root,
    pytest.mark.sample(1, "place"),
]
KEY = "pit_planted_8c1d5e2f9a3b4c5d6e7f"
"""In the variables of the hub, and in a file beside its data."""
USER = 65533
PLACES = [
    f"{provider} by {user}" for provider in ("bubblewrap", "engine") for user in ("root", "a user")
]
ENGINE_OF_ROOT = PLACES[3]
"""Reached by its socket's group: only root may hold a network of its containers."""


@dataclass(frozen=True)
class Place:
    """A hub with sandboxes of one provider, in a folder of its own."""

    client: httpx.Client
    folder: Path
    network: str = "packages"

    def create(self, **wishes: Any) -> "Hostile":
        made = create(self.client, network=self.network, **wishes)
        return Hostile(self.client, made)


class Hostile(Inside):
    """A sandbox, and what it is told that holds it."""

    def __init__(self, client: httpx.Client, made: dict[str, Any]) -> None:
        super().__init__(client, made["id"])
        self.id: str = made["id"]
        self.facts: dict[str, str] = made["advancedConfigs"]

    def write(self, path: str, content: str) -> None:
        sent = self.post("upload", params={"path": path}, files={"file": ("x", content.encode())})
        assert sent.status_code == 200, sent.text

    def end(self) -> None:
        self.client.delete(f"{API}/sandbox/{self.id}")

    @property
    def status(self) -> object:
        return self.client.get(f"{API}/sandbox/{self.id}").json()["status"]


@pytest.fixture(scope="module")
def place(request: pytest.FixtureRequest) -> Iterator[Place]:
    """A hub whose supervisor outlives every attack."""
    provider, _, user = request.param.partition(" by ")
    with ExitStack() as opened:
        folder = Path(tempfile.mkdtemp(prefix="prime-hostile-"))
        opened.callback(shutil.rmtree, folder, ignore_errors=True)
        (folder / "planted").write_text(KEY, encoding="utf-8")
        env = {"OPENAI_API_KEY": KEY}
        options = ["--sandboxes", provider, "--users-trust-each-other"]
        within: list[str] = []
        if provider == "engine":
            podman = podman_with_python()
            # As those of the group of an engine reach its socket.
            podman.folder.chmod(0o711)
            Path(podman.url.removeprefix("unix://")).chmod(0o666)
            env["CONTAINER_HOST"] = podman.url
        if user != "root":
            become = ["-m", "tests.helpers.unprivileged", str(folder), str(USER)]
            within = ["unshare", "--mount", sys.executable, *become]
        data = folder / "hub"
        data.mkdir()
        with (
            ended_supervisor(data),
            serve(data, *options, env=env, within=within) as served,
            served.client() as client,
        ):
            if request.param == ENGINE_OF_ROOT:
                asked = {"name": "box", "docker_image": IMAGE}
                refused = client.post(f"{API}/sandbox", json=asked)
                assert refused.status_code == 422, refused.text
                assert "needs an engine of your own" in refused.text
                yield Place(client, folder, "none")
            else:
                yield Place(client, folder)


@pytest.fixture
def inside(place: Place) -> Iterator[Hostile]:
    """A sandbox for one attack; another one still runs afterwards."""
    bystander, attacked = place.create(memory_gb=0.3), place.create(memory_gb=0.4)
    yield attacked
    assert bystander.run("echo alive")["stdout"] == "alive\n"
    for each in (attacked, bystander):
        each.end()


everywhere = pytest.mark.parametrize("place", PLACES, indirect=True)
of_bubblewrap = pytest.mark.parametrize("place", PLACES[:2], indirect=True)


@everywhere
def test_files_and_processes_of_the_machine_are_not_there(place: Place, inside: Hostile) -> None:
    for at in (place.folder, "/home", "/root/.ssh", f"/proc/1/root{place.folder}"):
        assert inside.run(f"cat {at}/planted || cat {at} || ls {at}/*")["exit_code"] != 0, at
    said = inside.run("cat /proc/[0-9]*/cmdline /proc/[0-9]*/environ | tr '\\0' '\\n'")["stdout"]
    assert "sleep" in said or "agent.py" in said
    assert str(place.folder) not in said


@everywhere
def test_a_planted_key_is_found_nowhere(place: Place, inside: Hostile) -> None:
    looked = "/proc/[0-9]*/environ /proc/[0-9]*/cmdline /etc /home /root /tmp /run /var /dev/shm"
    # As itself it does not match the pattern.
    pattern = f"[p]{KEY[1:]}"
    found = inside.run(f"grep -rsal --exclude-dir=ssl '{pattern}' {looked}; env | grep '{pattern}'")
    assert found["stdout"] == ""
    assert KEY not in str(inside.facts)
    kept = place.folder / "hub" / "sandboxes"
    for file in (each for each in kept.rglob("*") if each.is_file()):
        assert KEY not in file.read_text("utf-8", errors="replace"), file


@everywhere
def test_nothing_of_the_system_can_be_written_or_mounted(inside: Hostile) -> None:
    core = Path("/proc/sys/kernel/core_pattern").read_text("utf-8")
    said = inside.run(
        "(echo x > /proc/sys/kernel/core_pattern; echo b > /proc/sysrq-trigger) 2>/dev/null; "
        "touch /usr/bin/prime-hostile; mount -t tmpfs x /mnt && echo mounted; "
        "mknod /tmp/disk b 254 0 && dd if=/tmp/disk of=/dev/null count=1 && echo disk; "
        "grep CapEff /proc/self/status"
    )
    found = re.fullmatch(r"CapEff:\s+(\w+)\n", said["stdout"])
    assert found is not None, said
    assert int(found[1], 16) >> 21 & 1 == 0, "CAP_SYS_ADMIN"
    assert Path("/proc/sys/kernel/core_pattern").read_text("utf-8") == core
    assert not Path("/usr/bin/prime-hostile").exists()


@of_bubblewrap
def test_no_capability_and_no_namespace_is_to_be_had(inside: Hostile) -> None:
    said = inside.run("unshare -Ur true; grep -E 'CapEff|NoNewPrivs' /proc/self/status")
    assert said["stdout"].split() == ["CapEff:", "0000000000000000", "NoNewPrivs:", "1"]


@everywhere
def test_nothing_is_written_beyond_the_disk_that_is_told(inside: Hostile) -> None:
    if inside.facts["disk"].startswith("not limited"):
        assert inside.facts["provider"] == "engine"
        return
    folders = "/tmp /usr/local /dev /dev/shm /usr /run /root /etc"
    tried = f"for at in {folders}; do dd if=/dev/zero of=$at/big bs=1M count=300; done 2>/dev/null"
    # Half of 0.4 GB, which `disk` tells; the kernel rounds to pages.
    total = inside.run(f"{tried}; du -cb /[^p]*/big /*/*/big 2>/dev/null | tail -1")["stdout"]
    assert 150_000_000 < int(total.split()[0]) < 200_020_000


# request_key, keyctl and a socket to a hypervisor, which no namespace separates.
CALLS = """
import ctypes, platform, socket
libc = ctypes.CDLL(None, use_errno=True)
for number in {"x86_64": (249, 250), "aarch64": (218, 219)}[platform.machine()]:
    assert libc.syscall(number, b"user", b"planted", None, ctypes.c_int(-3)) == -1
    print(ctypes.get_errno())
try:
    socket.socket(40, socket.SOCK_STREAM)
except OSError as error:
    print(error.errno)
"""


@of_bubblewrap
def test_keys_of_the_session_and_the_hypervisor_are_not_reached(inside: Hostile) -> None:
    inside.write("/tmp/c.py", CALLS)
    assert inside.run("python /tmp/c.py")["stdout"].split() == ["1", "1", "1"]


@of_bubblewrap
def test_a_sandbox_that_fills_its_first_process_stderr_can_be_ended(place: Place) -> None:
    made = place.create()
    fill = "timeout 2 dd if=/dev/zero of=/proc/{}/fd/2 bs=64k count=40"
    made.run(f"{fill.format(1)}; {fill.format(2)}")
    assert place.client.delete(f"{API}/sandbox/{made.id}", timeout=20).status_code == 200


@everywhere
def test_links_are_followed_inside_alone(inside: Hostile) -> None:
    files = [Path("/etc/passwd"), Path("/etc/shadow")]
    before = [each.read_bytes() for each in files]
    inside.run("ln -s /etc/passwd /tmp/p; ln -s /proc/1/root/etc/shadow /tmp/s")
    inside.run("ln -s ../../../../../../etc/passwd /tmp/up")
    for link in ("/tmp/p", "/tmp/up", "/tmp/../../../../etc/passwd"):
        inside.post("upload", params={"path": link}, files={"file": ("p", b"owned")})
        assert inside.get("download", path="/tmp/s").content != before[1]
    assert [each.read_bytes() for each in files] == before


@everywhere
def test_no_address_of_this_machine_is_reached(inside: Hostile) -> None:
    has_proxy = "proxy" in inside.facts["network"]
    assert has_proxy or inside.facts["network"] == "none"
    with socket.create_server(("0.0.0.0", 0)) as server:
        server.settimeout(0.1)
        port = server.getsockname()[1]
        own = socket.gethostbyname(socket.gethostname())
        for address in ("127.0.0.1", own, "169.254.169.254", "10.0.2.2", "10.88.0.1"):
            code = f"import socket; socket.create_connection(('{address}', {port}), 2)"
            assert inside.run(f'python -c "{code}"')["exit_code"] == 1
            ask = f"CONNECT {address}:{port} HTTP/1.1\\r\\n\\r\\n"
            via = (
                "import socket; s = socket.create_connection(('127.0.0.1', 3128)); "
                f"s.sendall(b'{ask}'); print(s.recv(99))"
            )
            said = inside.run(f'python -c "{via}"')
            assert ("403" in said["stdout"]) if has_proxy else said["exit_code"] == 1
        with pytest.raises(TimeoutError):
            server.accept()


BOMBS = {
    "processes": "for i in $(seq 3000); do sleep 20 & done",
    "memory": "python -c 'bytearray(3_000_000_000)'",
    "disk": "dd if=/dev/zero of=/big bs=1M count=3000",
    "output": "yes | head -c 100000000",
    "descriptors": "python -c 'import os; [os.open(\"/dev/null\", 0) for _ in range(10**6)]'",
}


@everywhere
@pytest.mark.parametrize("bomb", BOMBS)
def test_a_bomb_hurts_only_its_own_sandbox(place: Place, inside: Hostile, bomb: str) -> None:
    if inside.facts.get(bomb, "").startswith("not limited"):
        # Said before it is used, and in the table of docs/sandboxes.md; this machine is spared it.
        kept = place.client.get(f"{API}/sandbox/{inside.id}").json()["advancedConfigs"]
        assert kept[bomb] == inside.facts[bomb]
        return
    # Bash tries to fork for as long as it may; the others end by themselves.
    seconds = 3 if bomb == "processes" else 8
    answer = inside.post("exec", json={"command": BOMBS[bomb], "timeout": seconds})
    assert answer.status_code in (200, 408, 409)
    assert len(answer.content) < 25_000_000
    other = place.create()
    assert other.run("echo yes")["stdout"] == "yes\n"
    other.end()


# Its descriptor is the only socket of the agent; what it says is then the attacker's.
LIE = r"""
import os, socket, json
pid = next(int(p) for p in os.listdir("/proc") if p.isdigit()
           and b"agent.py" in open(f"/proc/{p}/cmdline", "rb").read()
           and os.path.basename(os.readlink(f"/proc/{p}/exe")).startswith("python"))
names = {fd: os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd")}
fd = next(int(fd) for fd, name in names.items() if name.startswith("socket:"))
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
theirs = libc.syscall(434, pid, 0)
ours = libc.syscall(438, theirs, fd, 0)
if ours < 0:
    raise SystemExit("not reached")
control = socket.socket(fileno=ours)
for lie in (b"{", b"\xff" * 5000, b'{"id": 1e99}', b'{"id": "x", "code": []}', b"[]" * 1000,
            json.dumps({"id": 10**30, "code": -5}).encode()):
    control.send(lie)
"""


@of_bubblewrap
def test_an_agent_that_lies_is_not_believed(inside: Hostile) -> None:
    inside.write("/tmp/lie.py", LIE)
    assert inside.run("python /tmp/lie.py") == {"stdout": "", "stderr": "", "exit_code": 0}
    assert inside.run("exit 7")["exit_code"] == 7


@everywhere
def test_killing_everything_ends_the_sandbox_alone(inside: Hostile) -> None:
    inside.post("exec", json={"command": "kill -9 -1"})
    until = time.monotonic() + 20
    while inside.status == "RUNNING" and time.monotonic() < until:
        time.sleep(0.1)
    assert inside.status == "TERMINATED"
