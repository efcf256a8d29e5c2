"""Supervisors and starts that are killed, and processes that have their numbers then."""

import random
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace

import psutil

from prime_cli.hub.compute.local.folder import members
from tests.helpers.local_pods import Here, wait_until
from tests.helpers.processes import is_running
from tests.helpers.seed import read_seed


def test_a_process_that_has_the_number_of_the_sshd_is_not_taken_for_it(here: Here) -> None:
    tag = here.up()
    here.kill_supervisor(tag)
    state = here.folder(tag).read_state()
    assert state is not None
    with subprocess.Popen(["sleep", "600"]) as stranger:
        here.folder(tag).change_state(sshd_pid=stranger.pid, sshd_start=1.0)
        here.again(tag)
        assert here.ssh(tag, "true").returncode == 0
        here.provider.end(tag)
        assert stranger.poll() is None
        stranger.kill()
    wait_until(lambda: not is_running(state.sshd_pid), what="its own sshd has ended")


def test_many_that_look_at_once_start_it_once(here: Here) -> None:
    tag = here.up()
    here.reboot(tag)

    def look() -> None:
        beside = replace(here.provider)
        for _ in range(3):
            if beside.inspect([tag])[tag].is_resumable:
                beside.resume(tag)

    with ThreadPoolExecutor(6) as several:
        for looked in [several.submit(look) for _ in range(6)]:
            looked.result()
    here.wait(tag, "ACTIVE")
    assert here.provider.log(tag, 500).count("started again") == 1


RESUME = """
import sys
from pathlib import Path
from prime_cli.hub.compute.local.provider import LocalProvider

provider = LocalProvider(Path(sys.argv[1]))
provider.inspect([])
print("now", flush=True)
provider.resume(sys.argv[2])
"""


def _moments(count: int) -> Iterator[float]:
    chance = random.Random(read_seed())
    for _ in range(count):
        yield chance.uniform(0, 0.3)


def test_a_start_again_that_is_killed_at_any_moment_is_followed_by_another(here: Here) -> None:
    tag = here.up()
    before = here.wait(tag, "ACTIVE")
    here.ssh(tag, "echo work > day")
    for moment in _moments(8):
        here.reboot(tag)
        _resume_and_kill(here, tag, moment)
        if here.provider.inspect([tag])[tag].is_resumable:
            here.provider.resume(tag)
        after = here.wait(tag, "ACTIVE")
        assert after.host_keys == before.host_keys
        assert here.ssh(tag, "cat day").stdout == "work\n"


def _resume_and_kill(here: Here, tag: str, moment: float) -> None:
    words = [str(here.provider.folder), tag]
    with subprocess.Popen(
        [sys.executable, "-c", RESUME, *words], stdout=subprocess.PIPE, start_new_session=True
    ) as starting:
        assert starting.stdout is not None
        assert starting.stdout.readline() == b"now\n"
        time.sleep(moment)
        starting.kill()


def test_a_supervisor_that_is_killed_at_any_moment_of_its_life_loses_nothing(here: Here) -> None:
    order = here.order()
    here.provider.start(order)
    host_keys = set()
    for moment in _moments(8):
        time.sleep(moment)
        _kill_whoever_supervises(here, order.tag)
        seen = here.again(order.tag)
        host_keys.add(seen.host_keys)
        assert here.ssh(order.tag, "echo x >> day").returncode == 0
    assert len(host_keys) == 1
    assert here.ssh(order.tag, "wc -l < day").stdout.strip() == "8"
    here.provider.end(order.tag)
    assert here.provider.list_tags("") == []
    wait_until(lambda: not members(here.folder(order.tag)), what="its last supervisor has ended")


def _kill_whoever_supervises(here: Here, tag: str) -> None:
    """Also one that has only begun."""
    for process in members(here.folder(tag)):
        with suppress(psutil.Error):
            if any(word.endswith("supervisor.py") for word in process.cmdline()):
                process.kill()
    wait_until(lambda: not here.folder(tag).is_supervised, what="nobody supervises it")
