"""A disk that is full: publishing is refused in a sentence, and works once there is room again."""

import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from tests.helpers.serving import ServedHub, serve
from tests.hub import evaluating
from tests.hub.faults.shared_hub import attempt
from tests.hub.pushing import HUB, Push, data, names

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="file systems and limits of Linux"),
]

MEBIBYTE = 1 << 20
MOUNT = 'mount -t tmpfs -o size=24m tmpfs "$0" && exec "$@"'
"""A disk of 24 MiB that only the command and its children see."""


@dataclass
class SmallDisk:
    """A served hub, its data, and how to leave room on its disk (in bytes; None is all)."""

    hub: ServedHub
    data: Path
    leave: Callable[[int | None], None]


def may_mount() -> bool:
    """Whether this user may give a process a file system of its own."""
    if not shutil.which("unshare"):
        return False
    argv = ["unshare", "-m", "sh", "-c", MOUNT, "/mnt", "true"]
    return subprocess.run(argv, capture_output=True, check=False).returncode == 0


@contextmanager
def tmpfs(data: Path) -> Iterator[SmallDisk]:
    """A disk that another file fills."""
    data.mkdir()
    with serve(data, within=("unshare", "-m", "sh", "-c", MOUNT, str(data))) as hub:
        seen = Path(f"/proc/{hub.process.pid}/root{data}")
        ballast = seen / "ballast"

        def leave(room: int | None) -> None:
            ballast.unlink(missing_ok=True)
            if room is not None:
                with ballast.open("wb") as file:
                    os.posix_fallocate(file.fileno(), 0, shutil.disk_usage(seen).free - room)

        yield SmallDisk(hub, seen, leave)


@contextmanager
def file_limit(data: Path) -> Iterator[SmallDisk]:
    """No disk, but a limit on how long a file may become, which the kernel enforces alike."""
    with serve(data) as hub:
        pids = [hub.process.pid, *hub.children]

        def leave(room: int | None) -> None:
            soft = resource.RLIM_INFINITY if room is None else room
            for pid in pids:
                resource.prlimit(pid, resource.RLIMIT_FSIZE, (soft, resource.RLIM_INFINITY))

        yield SmallDisk(hub, data, leave)


@pytest.fixture(params=["disk", "limit"])
def disk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[SmallDisk]:
    if request.param == "disk" and not may_mount():
        pytest.skip("this user may not mount a file system")
    with (tmpfs if request.param == "disk" else file_limit)(tmp_path / "hub") as disk:
        yield disk


def require_refused(answer: httpx.Response) -> None:
    assert answer.status_code == 507, answer.text
    problem = answer.json()
    assert problem["code"] == "storage_failed"
    assert problem["detail"]
    assert "Traceback" not in problem["detail"]


@pytest.fixture
def client(disk: SmallDisk) -> Iterator[httpx.Client]:
    with disk.hub.client() as client:
        yield client


def test_publish_is_refused_and_finished_when_there_is_room(
    disk: SmallDisk, client: httpx.Client
) -> None:
    first = Push(client).run()
    second = Push(client, version="0.2.0", code=f"# {os.urandom(1_500_000).hex()}\n")
    disk.leave(MEBIBYTE)
    require_refused(attempt(second))
    # What had come is not kept either, which would take the room of others.
    assert list((disk.data / "incoming").iterdir()) == []
    disk.leave(0)
    require_refused(attempt(second))
    # Nothing of it is there, and what was there before is not harmed.
    assert names(client) == ["word"]
    detail = data(client.get(f"{HUB}/admin/word/@latest"))
    assert detail["semantic_version"] == "0.1.0"
    assert client.get(detail["wheel_url"]).content == first.wheel
    assert client.get(f"{HUB}/admin/word/@0.2.0").status_code == 404
    assert second.wheel_filename not in client.get("/admin/simple/word/").text
    disk.leave(None)
    assert attempt(second).status_code == 200
    detail = data(client.get(f"{HUB}/admin/word/@latest"))
    assert client.get(detail["wheel_url"]).content == second.wheel
    assert second.wheel_filename in client.get("/admin/simple/word/").text


def test_samples_are_refused_and_count_once_when_there_is_room(
    disk: SmallDisk, client: httpx.Client
) -> None:
    Push(client).run()
    evaluation = evaluating.made(client, environments=[{"id": "admin/word"}])
    batches = [
        [{"example_id": n, "rollout_number": 0, "reward": 1, "text": os.urandom(20_000).hex()}]
        for n in range(3)
    ]
    assert evaluating.push(client, evaluation, batches[0]).is_success
    disk.leave(0)
    require_refused(evaluating.push(client, evaluation, batches[1]))
    require_refused(evaluating.finalize(client, evaluation))
    assert evaluating.samples_of(client, evaluation) == batches[0]
    disk.leave(None)
    for batch in batches:
        assert evaluating.push(client, evaluation, batch).is_success
    assert evaluating.finalize(client, evaluation).is_success
    assert evaluating.samples_of(client, evaluation) == [
        sample for batch in batches for sample in batch
    ]
