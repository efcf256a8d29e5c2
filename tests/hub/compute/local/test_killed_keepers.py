"""Keepers and starts that are killed at any moment, and processes that have their numbers then."""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from prime_cli.hub.compute.local.boot import current_boot
from prime_cli.hub.compute.local.lock import Keeper, is_kept, take_lock
from prime_cli.hub.compute.local.pods import LocalPods
from prime_cli.hub.compute.local.processes import find_process, members, processes
from tests.helpers.local_pods import Here, wait_until
from tests.helpers.seed import read_seed


def test_a_process_that_has_the_number_of_a_keeper_is_not_ended_with_the_pod(here: Here) -> None:
    tag = here.up()
    here.reboot(tag)
    with subprocess.Popen(["sleep", "600"]) as stranger:
        mine = find_process(stranger.pid)
        assert mine is not None
        for keeper in (
            Keeper(stranger.pid, "1", current_boot()),
            Keeper(stranger.pid, mine.start, "another boot"),
        ):
            here.sign(tag, keeper)
            lock = take_lock(here.folder(tag))
            # Somebody has the lock, as one who is starting it again, and is not told to go.
            assert here.provider.inspect([tag])[tag].status == "PROVISIONING"
            LocalPods(here.provider.folder)._tell_to_go(here.folder(tag))
            os.close(lock)
        assert stranger.poll() is None
        here.again(tag)
        here.provider.end(tag)
        assert stranger.poll() is None
        stranger.kill()


def test_a_process_that_has_the_number_of_the_sshd_is_not_taken_for_it(here: Here) -> None:
    tag = here.up()
    here.kill_keeper(tag)
    with subprocess.Popen(["sleep", "600"]) as stranger:
        here.folder(tag).change_state(sshd_pid=stranger.pid, sshd_start="1")
        here.again(tag)
        assert here.ssh(tag, "true").returncode == 0
        here.provider.end(tag)
        assert stranger.poll() is None
        stranger.kill()


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

provider = LocalProvider(Path(sys.argv[1]), users=sys.argv[3] == "True")
provider.inspect([])
print("now", flush=True)
provider.resume(sys.argv[2])
"""


def _moments(count: int) -> Iterator[float]:
    chance = random.Random(read_seed())
    for _ in range(count):
        yield chance.uniform(0, 0.3)


def test_a_start_again_that_is_killed_at_any_moment_is_followed_by_another(ground: Here) -> None:
    tag = ground.up()
    before = ground.wait(tag, "ACTIVE")
    ground.ssh(tag, "echo work > day")
    for moment in _moments(8):
        ground.reboot(tag)
        _resume_and_kill(ground, tag, moment)
        if ground.provider.inspect([tag])[tag].is_resumable:
            ground.provider.resume(tag)
        after = ground.wait(tag, "ACTIVE")
        assert after.host_keys == before.host_keys
        assert ground.ssh(tag, "cat day").stdout == "work\n"


def _resume_and_kill(ground: Here, tag: str, moment: float) -> None:
    words = [str(ground.provider.folder), tag, str(ground.provider.users)]
    with subprocess.Popen(
        [sys.executable, "-c", RESUME, *words], stdout=subprocess.PIPE, start_new_session=True
    ) as starting:
        assert starting.stdout is not None
        assert starting.stdout.readline() == b"now\n"
        time.sleep(moment)
        starting.kill()


def test_a_keeper_that_is_killed_at_any_moment_of_its_life_loses_nothing(ground: Here) -> None:
    order = ground.order()
    ground.provider.start(order)
    host_keys = set()
    for moment in _moments(8):
        time.sleep(moment)
        _kill_whoever_keeps(ground, order.tag)
        # Each time as if the one before had been an hour ago.
        ground.folder(order.tag).change_state(crashed=0.0)
        seen = ground.again(order.tag)
        host_keys.add(seen.host_keys)
        assert ground.ssh(order.tag, "echo x >> day").returncode == 0
    assert len(host_keys) == 1
    assert ground.ssh(order.tag, "wc -l < day").stdout.strip() == "8"
    ground.provider.end(order.tag)
    assert ground.provider.list_tags("") == []
    assert members(ground.folder(order.tag)) == {}


def _kill_whoever_keeps(ground: Here, tag: str) -> None:
    """Also one that has not said yet who it is."""
    mark = os.fsencode(str(ground.folder(tag).path))
    for pid in processes():
        try:
            words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if mark in words and any(word.endswith(b"keeper/__main__.py") for word in words):
            os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not is_kept(ground.folder(tag)), what="nobody keeps it")
