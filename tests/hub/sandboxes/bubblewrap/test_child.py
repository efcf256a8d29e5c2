"""A process of a sandbox is waited for, also where Linux has no descriptors of processes."""

import asyncio
import errno
import os
import sys
import threading
from io import FileIO
from pathlib import Path

import psutil
import pytest

from prime_cli.hub.sandboxes.bubblewrap import child
from prime_cli.hub.sandboxes.bubblewrap.child import start_child
from tests.helpers.local_pods import wait_until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="bubblewrap exists only on Linux")


def _refuse(_pid: int) -> int:
    raise OSError(errno.ENOSYS, "Function not implemented")


@pytest.fixture(params=["a descriptor", "a thread"])
def waits_by(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "a thread":
        monkeypatch.setattr(os, "pidfd_open", _refuse)
    return str(request.param)


async def _run(script: str, stderr: Path, *, is_killed: bool = False) -> int | None:
    with FileIO(stderr, "w") as file:
        process = start_child(["/bin/sh", "-c", script], (), file)
    assert process.returncode is None
    if is_killed:
        process.kill()
    await asyncio.wait_for(process.wait(), 10)
    await process.wait()
    process.kill()
    return process.returncode


def test_a_process_is_told_of_when_it_ends_by_itself_or_is_killed(
    tmp_path: Path, waits_by: str
) -> None:
    open_before, threads = psutil.Process().num_fds(), threading.active_count()
    said = tmp_path / "stderr"
    assert asyncio.run(_run("sleep 0.05; env >&2; exit 3", said)) == 3
    assert "HOME" not in said.read_text("utf-8"), "it has no variables of ours"
    assert asyncio.run(_run("sleep 60", said, is_killed=True)) == -9
    assert psutil.Process().num_fds() == open_before
    wait_until(lambda: threading.active_count() == threads, what=f"{waits_by} has gone")


async def _leave_one_behind(said: Path) -> psutil.Process:
    with FileIO(said, "w") as file:
        process = start_child(["/bin/sh", "-c", "sleep 60 & echo $! >&2"], (), file)
    await process.wait()
    left = _process_in(said)
    await process.kill_all()
    return left


def _process_in(file: Path) -> psutil.Process:
    return psutil.Process(int(file.read_text("utf-8")))


def test_what_is_left_of_its_group_can_be_killed_with_it(tmp_path: Path) -> None:
    left = asyncio.run(_leave_one_behind(tmp_path / "stderr"))
    psutil.wait_procs([left], timeout=10)
    assert not left.is_running() or left.status() == psutil.STATUS_ZOMBIE


def test_a_program_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    async def start() -> None:
        with FileIO(tmp_path / "stderr", "w") as file:
            start_child([str(tmp_path / "none")], (), file)

    with pytest.raises(FileNotFoundError):
        asyncio.run(start())
    assert child._open_pidfd(2**30) is None
