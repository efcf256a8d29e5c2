"""Several prime processes at once on one data folder."""

import multiprocessing
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.helpers.storage import ON_S3, blobs_of
from tests.hub.pushing import HUB, Push, data, names, open_app

pytestmark = pytest.mark.slow

WORKERS = 4


def push_all(folder: Path, worker: int, start: Any, results: Any) -> None:
    """Publish three environments of one's own, and one that everybody publishes."""
    start.wait()
    client = open_app(folder)
    for number in range(3):
        Push(client, f"own-{worker}-{number}").run()
    results.put(push_shared(client))


def push_shared(client: httpx.Client) -> int:
    """The status that a push of the shared content ends with."""
    push = Push(client, "shared")
    push.begin()
    answer = push.declare_wheel()
    if answer.is_success and (url := data(answer)["upload_url"]):
        client.put(url, content=push.wheel)
        answer = push.finalize("wheels", data(answer)["wheel_id"])
    if answer.is_success:
        answer = push.declare_version()
    if answer.is_success:
        ticket = data(answer)
        client.put(ticket["upload_url"], content=push.sources)
        answer = push.finalize("versions", ticket["version_id"])
    return answer.status_code


def test_processes_that_start_at_once_all_publish(folder: Path) -> None:
    spawn = multiprocessing.get_context("spawn")
    start, results = spawn.Event(), spawn.Queue()
    workers = [
        spawn.Process(target=push_all, args=(folder, worker, start, results))
        for worker in range(WORKERS)
    ]
    for process in workers:
        process.start()
    start.set()
    statuses = [results.get(timeout=60) for _ in workers]
    for process in workers:
        process.join(timeout=60)
    assert [process.exitcode for process in workers] == [0] * WORKERS
    assert 200 in statuses
    assert set(statuses) <= {200, 409}
    own = {f"own-{worker}-{number}" for worker in range(WORKERS) for number in range(3)}
    client = open_app(folder)
    assert set(names(client, "limit=100")) == own | {"shared"}
    assert len(data(client.get(f"{HUB}/ada/shared/versions"))["versions"]) == 1
    # A wheel each; their sources are the same bytes.
    assert len(blobs_of(folder)) == len(own | {"shared"}) + 1
    if not ON_S3:
        for name in own | {"shared"}:
            assert len(list((folder / "simple" / "ada" / name).glob("*.whl"))) == 1


def die() -> None:
    """As from `kill -9`: nothing is cleaned up."""
    os.kill(os.getpid(), signal.SIGKILL)


def die_in_the_wheel(folder: Path) -> None:
    push = Push(open_app(folder))
    push.begin()

    def half() -> Iterator[bytes]:
        yield push.wheel[:100]
        die()

    push.client.put(data(push.declare_wheel())["upload_url"], content=half())


def die_before_the_last_finalize(folder: Path) -> None:
    push = Push(open_app(folder))
    push.begin()
    push.push_wheel()
    push.push_sources()
    die()


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="there is no SIGKILL here")
@pytest.mark.parametrize("killed", [die_in_the_wheel, die_before_the_last_finalize])
def test_push_that_was_killed_is_finished_by_the_next(folder: Path, killed: Any) -> None:
    process = multiprocessing.get_context("spawn").Process(target=killed, args=(folder,))
    process.start()
    process.join(timeout=60)
    assert process.exitcode == -signal.SIGKILL
    client = open_app(folder)
    assert names(client) == []
    push = Push(client).run()
    detail = data(client.get(f"{HUB}/ada/word/@latest"))
    assert client.get(detail["wheel_url"]).content == push.wheel
