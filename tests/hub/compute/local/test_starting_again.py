"""A pod whose keeper is gone is started again, as it was, and never without end."""

import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from prime_cli.hub.compute.local.boot import current_boot
from prime_cli.hub.compute.local.lock import Keeper, is_kept, last_keeper, take_lock
from prime_cli.hub.compute.local.pods import LocalPods
from prime_cli.hub.compute.local.processes import find_process, members, processes
from prime_cli.hub.compute.local.served import prepare_ground
from tests.helpers.local_pods import Here, wait_until

DETACHED = "nohup setsid sleep 4330 > /dev/null 2>&1 < /dev/null & echo $!"


@pytest.fixture(params=["here", "for_others"])
def ground(request: pytest.FixtureRequest) -> Here:
    """Pods of a hub in the box, and those of a served one."""
    found: Here = request.getfixturevalue(request.param)
    return found


def test_after_a_reboot_it_is_as_it_was_at_the_same_address(ground: Here) -> None:
    tag = ground.up(variables={"KEPT": "too"})
    before = ground.wait(tag, "ACTIVE")
    assert ground.ssh(tag, "echo work > day && id -u > who").returncode == 0
    ground.reboot(tag)
    after = ground.again(tag)
    assert (after.addresses, after.host_keys) == (before.addresses, before.host_keys)
    assert ground.ssh(tag, "cat day && id -u | cmp - who && echo $KEPT").stdout == "work\ntoo\n"
    assert before.started_again is None
    assert after.started_again is not None
    assert abs(after.started_again - datetime.now(UTC)) < timedelta(minutes=5)
    assert "this machine was started anew" in ground.provider.log(tag, 50)
    ground.provider.end(tag)
    assert ground.provider.found("") == []


def test_every_reboot_is_followed_by_a_start(here: Here) -> None:
    tag = here.up()
    for _ in range(3):
        here.reboot(tag)
        here.again(tag)


def test_a_port_that_somebody_has_taken_is_another_one_in_the_pods_address(ground: Here) -> None:
    tag = ground.up()
    before = ground.wait(tag, "ACTIVE")
    ground.reboot(tag)
    with socket.socket() as taken:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        taken.bind(("127.0.0.1", before.addresses[0].port))
        taken.listen()
        after = ground.again(tag)
        assert after.addresses != before.addresses
        assert after.host_keys == before.host_keys
        assert ground.ssh(tag, "true").returncode == 0


def test_a_pod_is_started_again_where_the_hub_gives_pods_now(here: Here) -> None:
    tag = here.up()
    here.reboot(tag)
    here.provider = replace(here.provider, host="localhost")
    assert here.again(tag).addresses[0].host == "localhost"


def test_a_deadline_stays_what_it_was(here: Here) -> None:
    order = here.order(stop_at=datetime.now(UTC) + timedelta(seconds=8))
    here.provider.start(order)
    here.wait(order.tag, "ACTIVE")
    here.reboot(order.tag)
    here.provider.resume(order.tag)
    here.gone(order.tag)


def test_what_is_past_its_deadline_is_not_started_again_and_its_home_is_there(here: Here) -> None:
    order = here.order(stop_at=datetime.now(UTC) + timedelta(seconds=3))
    here.provider.start(order)
    here.wait(order.tag, "ACTIVE")
    here.reboot(order.tag)
    wait_until(lambda: datetime.now(UTC) > order.stop_at, what="it is over")
    _is_not_started(here, order.tag, "Its time is over")


def test_what_was_being_ended_is_not_started_again(here: Here) -> None:
    tag = here.up()
    here.reboot(tag)
    here.folder(tag).mark_ending()
    _is_not_started(here, tag, "being ended")


@pytest.mark.parametrize("part", ["home", "order.json", "state.json", "ssh/session", "said"])
def test_a_folder_that_is_not_whole_is_not_started_again(here: Here, part: str) -> None:
    tag = here.up()
    here.reboot(tag)
    path = here.folder(tag).path / part
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    _is_not_started(here, tag, "")


def test_a_host_key_that_is_gone_is_not_made_anew(here: Here) -> None:
    tag = here.up()
    here.reboot(tag)
    (here.folder(tag).ssh / "host_key").unlink()
    here.provider.resume(tag)
    assert "host key" in str(here.wait(tag, "ERROR").failure)


def test_a_user_that_is_gone_is_not_made_anew(for_others: Here) -> None:
    tag = for_others.up()
    for_others.reboot(tag)
    subprocess.run(["userdel", tag], check=True, capture_output=True)
    for_others.provider.resume(tag)
    assert "system user" in str(for_others.wait(tag, "ERROR").failure)
    assert for_others.folder(tag).home.is_dir()


def test_a_pod_whose_user_is_gone_is_closed_to_the_next_of_that_number(for_others: Here) -> None:
    tag, other = for_others.up(), for_others.up()
    for_others.reboot(tag)
    subprocess.run(["userdel", tag], check=True, capture_output=True)
    prepare_ground(for_others.provider.folder, "127.0.0.1")
    found = for_others.folder(tag).path.stat()
    assert (found.st_uid, found.st_gid, found.st_mode & 0o777) == (0, 0, 0o700)
    assert for_others.ssh(other, "true").returncode == 0


def test_a_keeper_that_was_killed_is_followed_and_what_runs_goes_on(ground: Here) -> None:
    tag = ground.up()
    before = ground.wait(tag, "ACTIVE")
    job = int(ground.ssh(tag, DETACHED).stdout)
    argv = ["ssh", *ground.options(tag), ground.host(tag), "echo in; read line; echo $line"]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as session:
        assert session.stdin is not None
        assert session.stdout is not None
        assert session.stdout.readline() == b"in\n"
        ground.kill_keeper(tag)
        after = ground.again(tag)
        session.stdin.write(b"still here\n")
        session.stdin.close()
        assert session.stdout.readline() == b"still here\n"
    assert replace(after, started_again=None) == before
    assert job in processes()
    assert ground.ssh(tag, "true").returncode == 0
    assert "its keeper died" in ground.provider.log(tag, 50)
    ground.provider.end(tag)
    assert job not in processes()
    assert members(ground.folder(tag)) == {}


def test_an_sshd_that_was_taken_over_and_ends_is_followed_by_another(here: Here) -> None:
    tag = here.up()
    before = here.wait(tag, "ACTIVE")
    here.kill_keeper(tag)
    here.again(tag)
    state = here.folder(tag).read_state()
    assert state is not None
    os.kill(state.sshd_pid, signal.SIGKILL)
    wait_until(lambda: find_process(state.sshd_pid) is None, what="it is dead")
    wait_until(lambda: here.ssh(tag, "true").returncode == 0, what="another listens")
    assert here.wait(tag, "ACTIVE").addresses == before.addresses


def test_a_keeper_that_dies_twice_within_an_hour_is_not_followed_again(here: Here) -> None:
    tag = here.up()
    here.ssh(tag, "echo work > day")
    here.kill_keeper(tag)
    here.again(tag)
    here.kill_keeper(tag)
    _is_not_started(here, tag, "twice within an hour")
    here.reboot(tag)
    here.again(tag)
    assert here.ssh(tag, "cat day").stdout == "work\n"


def test_an_hour_after_it_died_a_keeper_is_followed_again(here: Here) -> None:
    tag = here.up()
    here.kill_keeper(tag)
    here.again(tag)
    here.kill_keeper(tag)
    here.folder(tag).change_state(crashed=time.time() - 3601)
    here.again(tag)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_keeper_that_is_told_to_go_as_at_a_shutdown_leaves_its_pod(
    ground: Here, number: signal.Signals
) -> None:
    tag = ground.up()
    before = ground.wait(tag, "ACTIVE")
    for _ in range(2):
        keeper = last_keeper(ground.folder(tag))
        assert keeper is not None
        os.kill(keeper.pid, number)
        wait_until(lambda: not is_kept(ground.folder(tag)), what="it is gone")
        assert replace(ground.again(tag), started_again=None) == before
    assert "told to go" in ground.provider.log(tag, 50)


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
            assert here.provider.look([tag])[tag].status == "PROVISIONING"
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
            if beside.look([tag])[tag].is_resumable:
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
provider.look([])
print("now", flush=True)
provider.resume(sys.argv[2])
"""


def _moments(count: int) -> Iterator[float]:
    seed = int(os.environ.get("PRIME_TEST_SEED", random.randrange(10**6)))
    print(f"PRIME_TEST_SEED={seed}")
    chance = random.Random(seed)
    for _ in range(count):
        yield chance.uniform(0, 0.3)


def test_a_start_again_that_is_killed_at_any_moment_is_followed_by_another(ground: Here) -> None:
    tag = ground.up()
    before = ground.wait(tag, "ACTIVE")
    ground.ssh(tag, "echo work > day")
    for moment in _moments(8):
        ground.reboot(tag)
        _resume_and_kill(ground, tag, moment)
        if ground.provider.look([tag])[tag].is_resumable:
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
    assert ground.provider.found("") == []
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


def test_this_machine_says_the_same_of_its_start_each_time() -> None:
    assert current_boot() == current_boot() != ""


def _is_not_started(here: Here, tag: str, why: str) -> None:
    seen = here.provider.look([tag])[tag]
    assert (seen.status, seen.is_resumable) == ("ERROR", False)
    assert why in str(seen.failure)
    here.provider.resume(tag)
    assert replace(here.provider.look([tag])[tag]) == seen
    assert here.folder(tag).path.is_dir()
