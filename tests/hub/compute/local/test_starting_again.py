"""A pod whose supervisor is gone is started again, as it was."""

import os
import shutil
import signal
import socket
import subprocess
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from prime_cli.hub.compute.local.folder import find_sshd_of, members
from tests.helpers.local_pods import Here, wait_until
from tests.helpers.processes import is_running

DETACHED = "nohup setsid sleep 4330 > /dev/null 2>&1 < /dev/null & echo $!"


def test_after_a_reboot_it_is_as_it_was_at_the_same_address(here: Here) -> None:
    tag = here.up(variables={"KEPT": "too"})
    before = here.wait(tag, "ACTIVE")
    assert here.ssh(tag, "echo work > day && id -u > who").returncode == 0
    here.reboot(tag)
    after = here.again(tag)
    assert (after.addresses, after.host_keys) == (before.addresses, before.host_keys)
    assert here.ssh(tag, "cat day && id -u | cmp - who && echo $KEPT").stdout == "work\ntoo\n"
    assert before.started_again is None
    assert after.started_again is not None
    assert abs(after.started_again - datetime.now(UTC)) < timedelta(minutes=5)
    assert "started again" in here.provider.log(tag, 50)
    here.provider.end(tag)
    assert here.provider.list_tags("") == []


def test_every_reboot_is_followed_by_a_start(here: Here) -> None:
    tag = here.up()
    for _ in range(3):
        here.reboot(tag)
        here.again(tag)


def test_a_taken_port_is_replaced_in_the_pods_address(here: Here) -> None:
    tag = here.up()
    before = here.wait(tag, "ACTIVE")
    here.reboot(tag)
    with socket.socket() as taken:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        taken.bind(("127.0.0.1", before.addresses[0].port))
        taken.listen()
        after = here.again(tag)
        assert after.addresses != before.addresses
        assert after.host_keys == before.host_keys
        assert here.ssh(tag, "true").returncode == 0


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
        ("plan.json", "`plan.json` is not there"),
        ("state.json", "`state.json` is not there"),
        ("ssh/session", "`ssh/session` is not there"),
        ("ssh/host_key", "`ssh/host_key` is not there"),
    ],
)
def test_a_folder_that_is_not_whole_is_not_started_again(here: Here, part: str, why: str) -> None:
    tag = here.up()
    here.reboot(tag)
    path = here.folder(tag).path / part
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    _is_not_started(here, tag, why)


def test_a_killed_supervisor_is_replaced_and_its_pod_continues(here: Here) -> None:
    tag = here.up()
    before = here.wait(tag, "ACTIVE")
    job = int(here.ssh(tag, DETACHED).stdout)
    argv = ["ssh", *here.options(tag), here.host(tag), "echo in; read line; echo $line"]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as session:
        assert session.stdin is not None
        assert session.stdout is not None
        assert session.stdout.readline() == b"in\n"
        here.kill_supervisor(tag)
        after = here.again(tag)
        session.stdin.write(b"still here\n")
        session.stdin.close()
        assert session.stdout.readline() == b"still here\n"
    assert replace(after, started_again=None) == before
    assert is_running(job)
    assert here.ssh(tag, "true").returncode == 0
    assert "took over sshd" in here.provider.log(tag, 50)
    here.provider.end(tag)
    wait_until(lambda: not is_running(job), what="the job is gone")
    wait_until(lambda: not members(here.folder(tag)), what="its supervisor has ended")


def test_an_sshd_that_was_taken_over_and_ends_is_followed_by_another(here: Here) -> None:
    tag = here.up()
    before = here.wait(tag, "ACTIVE")
    here.kill_supervisor(tag)
    here.again(tag)
    state = here.folder(tag).read_state()
    assert state is not None
    os.kill(state.sshd_pid, signal.SIGKILL)
    wait_until(lambda: find_sshd_of(state) is None, what="it is dead")
    wait_until(lambda: here.ssh(tag, "true").returncode == 0, what="another listens")
    assert here.wait(tag, "ACTIVE").addresses == before.addresses


def test_a_shutdown_that_reaches_sshd_first_is_not_a_failure(here: Here) -> None:
    tag = here.up()
    state, supervisor = here.folder(tag).read_state(), here.supervisor(tag)
    assert state is not None
    supervisor.suspend()
    os.kill(state.sshd_pid, signal.SIGTERM)
    wait_until(lambda: find_sshd_of(state) is None, what="sshd is gone")
    supervisor.resume()
    supervisor.terminate()
    wait_until(lambda: not here.folder(tag).is_supervised, what="the supervisor is gone")
    here.again(tag)


def test_a_pod_that_is_down_keeps_its_gpus_and_one_that_failed_does_not(here: Here) -> None:
    tag = here.up()
    local = here.provider
    here.kill_supervisor(tag)
    assert local._in_use()
    here.reboot(tag)
    assert local._in_use()
    here.folder(tag).change_state(status="ERROR")
    assert not local._in_use()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_supervisor_terminated_at_a_shutdown_keeps_its_pod(
    here: Here, number: signal.Signals
) -> None:
    tag = here.up()
    before = here.wait(tag, "ACTIVE")
    for _ in range(2):
        here.supervisor(tag).send_signal(number)
        wait_until(lambda: not here.folder(tag).is_supervised, what="it is gone")
        assert replace(here.again(tag), started_again=None) == before


def _is_not_started(here: Here, tag: str, why: str) -> None:
    seen = here.provider.inspect([tag])[tag]
    assert (seen.status, seen.is_resumable) == ("ERROR", False)
    assert why in str(seen.failure)
    here.provider.resume(tag)
    assert here.provider.inspect([tag])[tag] == seen
    assert here.folder(tag).path.is_dir()
