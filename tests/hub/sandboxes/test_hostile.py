"""What code in a sandbox tries: nothing outside is touched, and its supervisor lives on."""

import socket
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.helpers.sandboxes import API, Inside, create, sandbox_hub
from tests.helpers.tools import needs_bubblewrap

pytestmark = [pytest.mark.slow, needs_bubblewrap]


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """Ada's hub, whose supervisor outlives every attack."""
    with sandbox_hub(tmp_path_factory.mktemp("hub")) as client:
        yield client


@pytest.fixture
def inside(hub: httpx.Client) -> Iterator[Inside]:
    """A sandbox for one attack; another one still runs afterwards."""
    bystander = Inside(hub, create(hub)["id"])
    yield Inside(hub, create(hub, memory_gb=0.4)["id"])
    assert bystander.run("echo alive")["stdout"] == "alive\n"


def test_files_and_processes_of_the_machine_are_not_there(inside: Inside, tmp_path: Path) -> None:
    planted = tmp_path / "planted"
    planted.write_text("secret")
    for place in (planted, "/home", "/etc/shadow", "/root/.ssh", f"/proc/1/root{planted}", "/sys"):
        assert inside.run(f"cat {place} || ls {place}/*")["exit_code"] != 0, place
    said = inside.run("cat /proc/[0-9]*/cmdline /proc/[0-9]*/environ | tr '\\0' '\\n'")["stdout"]
    assert "agent.py" in said
    assert str(tmp_path.parent) not in said
    assert "PRIME_" not in said


def test_nothing_of_the_system_can_be_written_or_mounted(inside: Inside) -> None:
    core = Path("/proc/sys/kernel/core_pattern").read_text("utf-8")
    said = inside.run(
        "echo x > /proc/sys/kernel/core_pattern; touch /usr/bin/x; mount -t tmpfs x /mnt; "
        "unshare -Ur true; echo b > /proc/sysrq-trigger; grep -E 'CapEff|NoNewPrivs' "
        "/proc/self/status"
    )
    assert said["stdout"].split() == ["CapEff:", "0000000000000000", "NoNewPrivs:", "1"]
    assert Path("/proc/sys/kernel/core_pattern").read_text("utf-8") == core
    assert not Path("/usr/bin/x").exists()


def test_nothing_is_written_beyond_the_disk_that_is_told(inside: Inside) -> None:
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


def test_keys_of_the_session_and_the_hypervisor_are_not_reached(inside: Inside) -> None:
    inside.post("upload", params={"path": "/tmp/c.py"}, files={"file": ("c.py", CALLS.encode())})
    assert inside.run("python /tmp/c.py")["stdout"].split() == ["1", "1", "1"]


def test_a_sandbox_that_fills_its_first_process_stderr_can_be_ended(hub: httpx.Client) -> None:
    made = create(hub)
    fill = "timeout 2 dd if=/dev/zero of=/proc/{}/fd/2 bs=64k count=40"
    Inside(hub, made["id"]).run(f"{fill.format(1)}; {fill.format(2)}")
    assert hub.delete(f"{API}/sandbox/{made['id']}", timeout=20).status_code == 200


def test_links_are_followed_inside_alone(inside: Inside) -> None:
    passwd = Path("/etc/passwd").read_bytes()
    inside.run("ln -s /etc/passwd /tmp/p; ln -s /proc/1/root/etc/shadow /tmp/s")
    sent = inside.post("upload", params={"path": "/tmp/p"}, files={"file": ("p", b"owned")})
    assert sent.status_code == 422
    assert Path("/etc/passwd").read_bytes() == passwd
    assert inside.get("download", path="/tmp/s").status_code == 404


def test_no_address_of_this_machine_is_reached(inside: Inside) -> None:
    with socket.create_server(("0.0.0.0", 0)) as server:
        server.settimeout(0.1)
        port = server.getsockname()[1]
        own = socket.gethostbyname(socket.gethostname())
        for place in ("127.0.0.1", own, "169.254.169.254", "10.0.2.2"):
            code = f"import socket; socket.create_connection(('{place}', {port}), 2)"
            assert inside.run(f'python -c "{code}"')["exit_code"] == 1
            ask = f"CONNECT {place}:{port} HTTP/1.1\\r\\n\\r\\n"
            via = (
                "import socket; s = socket.create_connection(('127.0.0.1', 3128)); "
                f"s.sendall(b'{ask}'); print(s.recv(99))"
            )
            assert "403" in inside.run(f'python -c "{via}"')["stdout"]
        with pytest.raises(TimeoutError):
            server.accept()


@pytest.mark.parametrize(
    "bomb",
    [
        "for i in $(seq 3000); do sleep 20 & done",
        "python -c 'bytearray(3_000_000_000)'",
        "dd if=/dev/zero of=/big bs=1M count=3000",
        "yes | head -c 100000000",
        "python -c 'import os; [os.open(\"/dev/null\", 0) for _ in range(10**6)]'",
    ],
    ids=["processes", "memory", "disk", "output", "descriptors"],
)
def test_a_bomb_hurts_only_its_own_sandbox(hub: httpx.Client, inside: Inside, bomb: str) -> None:
    # Bash tries to fork for as long as it may; the others end by themselves.
    seconds = 3 if "sleep" in bomb else 8
    answer = inside.post("exec", json={"command": bomb, "timeout": seconds})
    assert answer.status_code in (200, 408, 409)
    assert len(answer.content) < 25_000_000
    other = create(hub)
    assert Inside(hub, other["id"]).run("echo yes")["stdout"] == "yes\n"
    hub.delete(f"{API}/sandbox/{other['id']}")


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


def test_an_agent_that_lies_is_not_believed(inside: Inside) -> None:
    inside.post("upload", params={"path": "/tmp/lie.py"}, files={"file": ("lie.py", LIE.encode())})
    assert inside.run("python /tmp/lie.py") == {"stdout": "", "stderr": "", "exit_code": 0}
    assert inside.run("exit 7")["exit_code"] == 7


def test_killing_everything_ends_the_sandbox_alone(hub: httpx.Client, inside: Inside) -> None:
    assert inside.run("kill -9 -1")["exit_code"] == 137
    sandbox_id = inside.url.rpartition("/")[2]
    assert hub.get(f"{API}/sandbox/{sandbox_id}").json()["status"] == "TERMINATED"
