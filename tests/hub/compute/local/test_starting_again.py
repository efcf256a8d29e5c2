"""A pod whose keeper is gone is started again, as it was, and never without end."""

import os
import shutil
import signal
import socket
import subprocess
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from prime_cli.hub.compute.local.boot import current_boot
from prime_cli.hub.compute.local.lock import is_kept, last_keeper
from prime_cli.hub.compute.local.pods import LocalPods
from prime_cli.hub.compute.local.processes import find_process, members, processes
from prime_cli.hub.compute.local.served import prepare_ground
from tests.helpers.local_pods import Here, wait_until

DETACHED = "nohup setsid sleep 4330 > /dev/null 2>&1 < /dev/null & echo $!"


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
    assert ground.provider.list_tags("") == []


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


@pytest.mark.parametrize(
    ("part", "why"),
    [
        ("home", "`home` is not there"),
        ("order.json", "`order.json` is not there"),
        ("state.json", "Nothing is known of how it was"),
        ("ssh/session", "`ssh/session` is not there"),
        ("said", "`said` is not there"),
    ],
)
def test_a_folder_that_is_not_whole_is_not_started_again(here: Here, part: str, why: str) -> None:
    tag = here.up()
    here.reboot(tag)
    path = here.folder(tag).path / part
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    _is_not_started(here, tag, why)


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


def test_a_shutdown_that_reaches_sshd_first_is_no_failure_of_it(here: Here) -> None:
    tag = here.up()
    state, keeper = here.folder(tag).read_state(), last_keeper(here.folder(tag))
    assert state is not None
    assert keeper is not None
    os.kill(keeper.pid, signal.SIGSTOP)
    os.kill(state.sshd_pid, signal.SIGTERM)
    wait_until(lambda: find_process(state.sshd_pid) is None, what="sshd is gone")
    os.kill(keeper.pid, signal.SIGCONT)
    os.kill(keeper.pid, signal.SIGTERM)
    wait_until(lambda: not is_kept(here.folder(tag)), what="the keeper is gone")
    here.again(tag)


def test_a_pod_that_is_down_keeps_its_gpus_and_one_that_failed_does_not(here: Here) -> None:
    tag = here.up()
    local = LocalPods(here.provider.folder)
    here.kill_keeper(tag)
    here.again(tag)
    here.kill_keeper(tag)
    assert local._in_use()
    here.reboot(tag)
    assert local._in_use()
    here.folder(tag).change_state(status="ERROR")
    assert not local._in_use()


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


def test_this_machine_says_the_same_of_its_start_each_time() -> None:
    assert current_boot() == current_boot() != ""


def _is_not_started(here: Here, tag: str, why: str) -> None:
    seen = here.provider.inspect([tag])[tag]
    assert (seen.status, seen.is_resumable) == ("ERROR", False)
    assert why in str(seen.failure)
    here.provider.resume(tag)
    assert here.provider.inspect([tag])[tag] == seen
    assert here.folder(tag).path.is_dir()
