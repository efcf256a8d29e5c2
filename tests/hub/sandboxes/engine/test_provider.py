"""Which engines make sandboxes, and how a container's first process is known on this machine."""

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from prime_cli.hub.sandboxes.engine.provider import is_first_process
from tests.helpers.sandboxes import API, IMAGE, sandbox_hub
from tests.helpers.scripted_engine import podman, scripted_engine

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="there is no /proc")
TAG = "prime-1-2"


@contextmanager
def process(line: str) -> Iterator[int]:
    """The number of a shell with a line."""
    with subprocess.Popen(["/bin/sh", "-c", line]) as started:
        try:
            yield started.pid
        finally:
            started.kill()


def test_one_that_is_still_the_runtimes_is_waited_for() -> None:
    with process(f"sleep 0.2; exec /bin/sh -c 'sleep 20; true' {TAG}") as pid:
        assert asyncio.run(is_first_process(pid, TAG))


def test_another_process_of_that_number_is_not_taken_for_it() -> None:
    with process("sleep 20; true") as pid:
        assert not asyncio.run(is_first_process(pid, TAG, seconds=0.1))


def test_a_number_that_nothing_has_is_not_waited_for() -> None:
    assert not asyncio.run(is_first_process(2**30, TAG, seconds=3600))


def test_an_engine_that_cannot_limit_its_containers_is_refused_before_one_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with scripted_engine(tmp_path / "e.sock", podman=podman("memory", "pids")) as url:
        monkeypatch.setenv("CONTAINER_HOST", url)
        with sandbox_hub(tmp_path / "hub", "engine") as hub:
            answer = hub.post(f"{API}/sandbox", json={"name": "box", "docker_image": IMAGE})
    assert answer.status_code == 422, answer.text
    assert "cannot limit CPUs of its containers" in answer.text
