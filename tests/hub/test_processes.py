"""Several prime processes at once on one data folder."""

import multiprocessing
from pathlib import Path
from typing import Any

import httpx

from tests.hub.pushing import HUB, Push, data, names, open_app

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
    for name in own | {"shared"}:
        assert len(list((folder / "simple" / "ada" / name).glob("*.whl"))) == 1
