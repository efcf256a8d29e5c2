"""What every provider of sandboxes does, by the API; a cluster alone is scripted."""

import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest

from tests.helpers.engines import podman_with_python
from tests.helpers.kubernetes import scripted_cluster
from tests.helpers.sandboxes import API, Inside, create, sandbox_hub
from tests.helpers.tools import needs_bubblewrap
from tests.helpers.wild import write_wheel

PROVIDERS = [
    pytest.param("bubblewrap", marks=needs_bubblewrap),
    pytest.param("engine", marks=pytest.mark.slow),
    # The API of a cluster is scripted; its pods are processes of this machine.
    pytest.param("kubernetes", marks=needs_bubblewrap),
]


@pytest.fixture(scope="module")
def variables() -> dict[str, str]:
    """What leads to the engine or the cluster."""
    return {}


@pytest.fixture(scope="module", params=PROVIDERS)
def hub(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    variables: dict[str, str],
) -> Iterator[httpx.Client]:
    """Ada's hub, with one supervisor for all tests."""
    variables.clear()
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "engine":
            variables["CONTAINER_HOST"] = podman_with_python().url
        data = tmp_path_factory.mktemp("hub")
        with ExitStack() as servers:
            network = "packages"
            if request.param == "kubernetes":
                cluster = servers.enter_context(scripted_cluster(data / "tmp"))
                variables["KUBECONFIG"] = str(cluster.kubeconfig(data))
                variables["PRIME_KUBERNETES_ROOT"] = "1"
                network = "none"
            for name, value in variables.items():
                patch.setenv(name, value)
            client = servers.enter_context(sandbox_hub(data, request.param, network=network))
            client.headers["x-provider"] = request.param
            yield client


@pytest.fixture(autouse=True)
def same_variables(
    hub: httpx.Client,
    variables: dict[str, str],
    clean_environment: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each test is otherwise without them, and the supervisor would be started again."""
    del hub, clean_environment
    for name, value in variables.items():
        monkeypatch.setenv(name, value)


def skip_scripted(hub: httpx.Client, why: str) -> None:
    """Skip what a scripted cluster cannot keep."""
    if hub.headers["x-provider"] == "kubernetes":
        pytest.skip(f"the cluster is scripted: {why}")


@pytest.fixture(scope="module")
def inside(hub: httpx.Client) -> Inside:
    """A sandbox that lives for all tests."""
    return Inside(hub, create(hub, environment_vars={"GIVEN": "1"})["id"])


def test_a_command_has_its_output_and_exit_code(inside: Inside) -> None:
    said = inside.run("echo $A; pwd; echo no >&2; exit 3", working_dir="/tmp", env={"A": "yes"})
    assert said == {"stdout": "yes\n/tmp\n", "stderr": "no\n", "exit_code": 3}


def test_a_user_that_it_does_not_have_is_refused(inside: Inside) -> None:
    answer = inside.post("exec", json={"command": "id", "user": "nosuch"})
    assert (answer.status_code, "`nosuch`" in answer.text) == (422, True), answer.text


@pytest.mark.parametrize(
    ("folder", "why", "code"),
    [("/nowhere", "No such file or directory", 127), ("/etc/passwd", "Not a directory", 126)],
)
def test_a_folder_that_it_cannot_enter_is_told_in_a_line(
    inside: Inside, folder: str, why: str, code: int
) -> None:
    said = inside.run("pwd", working_dir=folder)
    assert said == {"stdout": "", "stderr": f"{folder}: {why}\n", "exit_code": code}


def test_files_go_in_and_come_out(inside: Inside) -> None:
    content = bytes(range(256)) * 4000
    sent = inside.post("upload", params={"path": "/tmp/new/x"}, files={"file": ("x", content)})
    assert sent.json()["size"] == len(content)
    assert inside.get("download", path="/tmp/new/x").content == content
    inside.run("echo one two three > /tmp/words")
    part = inside.get("read-file", path="/tmp/words", offset=-6, length=4).json()
    assert (part["content"], part["offset"], part["truncated"]) == ("thre", 8, True)
    assert inside.get("read-file", path="/nowhere").status_code == 404
    assert inside.get("download", path="/nowhere").status_code == 404


def test_a_slow_command_is_killed_in_time(inside: Inside) -> None:
    assert inside.post("exec", json={"command": "sleep 61", "timeout": 0.5}).status_code == 408
    assert inside.run("pgrep -xf 'sleep 61'")["exit_code"] == 1


def test_a_sandbox_has_its_python_and_its_variables(inside: Inside) -> None:
    said = inside.run("python -V; echo $GIVEN; id -u; pwd >/dev/null")
    assert said["stdout"].startswith("Python 3.11.")
    assert said["stdout"].endswith("\n1\n0\n")


def test_pip_leaves_compiling_to_the_first_import(
    hub: httpx.Client, inside: Inside, tmp_path: Path
) -> None:
    skip_scripted(hub, "its processes have this machine's variables")
    wheel = write_wheel(tmp_path, {"tiny.py": "X = 6 * 7\n"}, name="tiny", requires=())
    path = f"/tmp/{wheel.name}"
    inside.post("upload", params={"path": path}, files={"file": (wheel.name, wheel.read_bytes())})
    found = inside.run(f"pip install -q --no-index --find-links= --target /tmp/tiny {path}")
    assert found["exit_code"] == 0, found
    compiled = "find /tmp/tiny -name '*.pyc'"
    assert inside.run(compiled)["stdout"] == ""
    assert inside.run(f"PYTHONPATH=/tmp/tiny python -c 'import tiny'; {compiled}")["stdout"] != ""


def test_what_is_left_in_the_background_lives_on(inside: Inside) -> None:
    began = time.monotonic()
    assert inside.run("sleep 30 & echo left")["stdout"] == "left\n"
    assert time.monotonic() - began < 10
    assert inside.run("pkill -xf 'sleep 30'")["exit_code"] == 0


def test_only_package_indexes_are_reached(hub: httpx.Client, inside: Inside) -> None:
    skip_scripted(hub, "no NetworkPolicy is applied")
    line = "python -c 'import urllib.request as r; r.urlopen(\"http://{}\", timeout=5)'"
    for place in ("example.org", "127.0.0.1:1", "169.254.169.254"):
        assert inside.run(line.format(place))["exit_code"] == 1
    said = inside.run(line.format("example.org"))["stderr"]
    assert "403" in said


def test_a_sandbox_that_is_deleted_leaves_nothing(hub: httpx.Client) -> None:
    made = create(hub)
    assert hub.delete(f"{API}/sandbox/{made['id']}").status_code == 200
    swept = hub.post(f"{API}/sandbox/sweep", json={"dry_run": True}).json()
    assert swept == {"ended": [], "removed": [], "failed": []}


def test_memory_beyond_the_limit_is_not_to_be_had(hub: httpx.Client) -> None:
    skip_scripted(hub, "no memory is held")
    made = create(hub, memory_gb=0.2)
    if made["advancedConfigs"]["memory"].startswith("not limited"):
        pytest.skip("this system lets no memory be held")
    said = Inside(hub, made["id"]).run("python -c 'bytearray(600_000_000)'; echo $?")
    assert said["stdout"] == "137\n"
    assert hub.get(f"{API}/sandbox/{made['id']}").json()["status"] == "RUNNING"
