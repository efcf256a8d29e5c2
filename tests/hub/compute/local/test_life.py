"""The life of a pod on this machine: begun, looked at, entered, ended, whatever is killed."""

import os
import re
import shutil
import socket
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from prime_cli.core.errors import StorageFailed, UsageError
from prime_cli.core.file_locks import take_lock
from prime_cli.hub.compute.local.folder import PodFolder, members
from prime_cli.hub.compute.local.provider import LocalProvider
from tests.helpers.local_pods import Here, wait_until
from tests.helpers.processes import is_running

BEGIN = """
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from prime_cli.hub.compute.local.provider import LocalProvider
from prime_cli.hub.compute.provider import PodSpec
from tests.helpers.local_pods import OFFER

provider = LocalProvider(Path(sys.argv[1]))
stop_at = datetime.now(UTC) + timedelta(minutes=2)
order = PodSpec(sys.argv[2], "id", "mine", "ada", OFFER, stop_at, ("ssh-ed25519 AAAA",))
provider.inspect([])
print("now", flush=True)
provider.start(order)
"""


def _nothing_is_left(here: Here, tag: str, port: int) -> None:
    assert here.provider.list_tags("") == []
    assert here.provider.inspect([tag]) == {}
    assert list(here.provider.folder.iterdir()) == []
    wait_until(lambda: not members(here.folder(tag)), what="no process")
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", port)) != 0


def _port(here: Here, tag: str) -> int:
    return here.wait(tag, "ACTIVE").addresses[0].port


def test_a_pod_is_entered_at_its_home_and_nothing_is_left_of_it_when_it_ends(here: Here) -> None:
    tag = here.up()
    port = _port(here, tag)
    assert here.provider.list_tags("prime-") == [tag]
    assert here.ssh(tag, "pwd").stdout == f"{here.folder(tag).home}\n"
    here.provider.end(tag)
    _nothing_is_left(here, tag, port)


def test_terminating_a_pod_twice_or_an_unknown_one_does_nothing(here: Here) -> None:
    tag = here.up()
    here.provider.end(tag)
    here.provider.end(tag)
    here.provider.end("prime-never-was")
    assert here.provider.list_tags("") == []


def test_a_pod_whose_log_cannot_be_opened_is_reported_by_its_path(tmp_path: Path) -> None:
    folder = PodFolder(tmp_path)
    folder.log.mkdir()
    lock = take_lock(folder.lock, is_new=True)
    assert lock is not None
    with pytest.raises(StorageFailed, match=re.escape(str(folder.log))):
        LocalProvider(tmp_path)._supervise(folder, lock)


def test_to_begin_again_changes_nothing(here: Here) -> None:
    order = here.order()
    here.provider.start(order)
    first = here.wait(order.tag, "ACTIVE")
    here.provider.start(order)
    assert here.wait(order.tag, "ACTIVE") == first
    assert len(here.provider.list_tags("")) == 1


def test_what_was_put_into_the_background_ends_with_the_pod(here: Here) -> None:
    tag = here.up()
    detached = "setsid nohup sh -c '(sleep 4321 & echo $!) & wait' > pid 2>&1 < /dev/null &"
    noted = "until [ -s pid ]; do sleep 0.1; done"
    unmarked = "env -i setsid sleep 60 > /dev/null 2>&1 &"
    assert here.ssh(tag, f"{detached} {noted}; {unmarked}").returncode == 0
    pid = int((here.folder(tag).home / "pid").read_text(encoding="utf-8"))
    assert is_running(pid)
    here.provider.end(tag)
    assert not is_running(pid)


def test_a_session_without_a_command_ends_with_the_pod(here: Here) -> None:
    tag = here.up()
    argv = ["ssh", "-N", *here.options(tag), here.host(tag)]
    with subprocess.Popen(argv, stderr=subprocess.DEVNULL) as session:
        wait_until(lambda: "Accepted publickey" in here.provider.log(tag, 9), what="a login")
        here.provider.end(tag)
        assert session.wait(timeout=60) == 255


def test_the_supervisor_terminates_its_pod_at_the_deadline(here: Here) -> None:
    order = here.order(stop_at=datetime.now(UTC) + timedelta(seconds=2))
    here.provider.start(order)
    here.gone(order.tag)
    wait_until(lambda: not members(here.folder(order.tag)), what="no process")


def test_a_pod_whose_supervisor_was_killed_can_be_ended(here: Here) -> None:
    tag = here.up()
    port = _port(here, tag)
    here.ssh(tag, "nohup setsid sleep 4323 > /dev/null 2>&1 < /dev/null &")
    here.kill_supervisor(tag)
    assert here.provider.inspect([tag])[tag].is_resumable
    assert here.provider.list_tags("") == [tag]
    assert members(here.folder(tag)), "sshd and sleep are still there"
    here.provider.end(tag)
    _nothing_is_left(here, tag, port)


def test_a_supervisor_that_does_not_answer_is_ended_all_the_same(here: Here) -> None:
    tag = here.up()
    port = _port(here, tag)
    stuck = here.supervisor(tag)
    stuck.suspend()
    LocalProvider(here.provider.folder, end_seconds=0.2).end(tag)
    _nothing_is_left(here, tag, port)
    wait_until(lambda: not stuck.is_running(), what="no supervisor")


def test_a_pod_whose_sshd_was_killed_is_an_error_and_leaves_no_process(here: Here) -> None:
    tag = here.up()
    here.supervisor(tag).children()[0].kill()
    wait_until(lambda: here.provider.inspect([tag])[tag].status == "ERROR", what="an error")
    seen = here.provider.inspect([tag])[tag]
    assert "sshd" in str(seen.failure)
    wait_until(lambda: not members(here.folder(tag)), what="no process")
    assert "sshd" in here.provider.log(tag, 5)


def test_what_a_start_left_that_was_killed_half_way_is_found_and_ended(here: Here) -> None:
    tag = here.order().tag
    half = PodFolder(here.provider.folder / f".{tag}.0123456789abcdef")
    half.path.mkdir(parents=True)
    lock = take_lock(half.lock, is_new=True)
    assert lock is not None
    os.close(lock)
    assert here.provider.list_tags("prime-") == [tag]
    assert here.provider.inspect([tag]) == {}
    here.provider.end(tag)
    assert list(here.provider.folder.iterdir()) == []


def test_a_start_that_was_killed_before_its_supervisor_began_is_an_error(here: Here) -> None:
    tag = here.order().tag
    laid = here.folder(tag)
    laid.path.mkdir(parents=True)
    lock = take_lock(laid.lock, is_new=True)
    assert lock is not None
    os.close(lock)
    assert here.provider.inspect([tag])[tag].status == "ERROR"
    here.provider.end(tag)
    assert here.provider.list_tags("") == []


def test_a_pod_without_its_folder_ends_itself(here: Here) -> None:
    tag = here.up()
    here.ssh(tag, "nohup setsid sleep 4327 > /dev/null 2>&1 < /dev/null &")
    # The keeper may be writing its log meanwhile.
    shutil.rmtree(here.provider.folder, ignore_errors=True)
    wait_until(lambda: not members(here.folder(tag)), what="no process")


@pytest.mark.parametrize("moment", [0.0, 0.02, 0.05, 0.1, 0.2])
def test_a_start_that_is_killed_at_any_moment_leaves_nothing_that_cannot_be_ended(
    here: Here, moment: float
) -> None:
    order = here.order()
    with subprocess.Popen(
        [sys.executable, "-c", BEGIN, str(here.provider.folder), order.tag],
        stdout=subprocess.PIPE,
        start_new_session=True,
    ) as starting:
        assert starting.stdout is not None
        assert starting.stdout.readline() == b"now\n"
        time.sleep(moment)
        starting.kill()
    for tag in here.provider.list_tags(""):
        assert tag == order.tag
        here.provider.end(tag)
    wait_until(lambda: not members(here.folder(order.tag)), what="no process")
    assert here.provider.list_tags("") == []


def test_a_folder_that_is_deep_and_closed_to_its_owner_is_removed(here: Here) -> None:
    tag = here.up()
    script = "import os\nfor n in range(1500):\n os.mkdir('d' * 200)\n os.chdir('d' * 200)"
    assert here.ssh(tag, "python3", "-c", f'"{script}"').returncode == 0
    here.ssh(tag, "mkdir shut && touch shut/f && chmod 000 shut && ln -s / all")
    here.provider.end(tag)
    assert list(here.provider.folder.iterdir()) == []


def test_many_pods_begin_at_the_same_time_each_on_a_port_of_its_own(here: Here) -> None:
    orders = [here.order() for _ in range(6)]
    for order in orders:
        here.provider.start(order)
    assert len({_port(here, order.tag) for order in orders}) == len(orders)


@pytest.mark.parametrize("tag", ["../up", "prime-", "prime-A", "disks", "prime-" + "a" * 41, ""])
def test_invalid_tags_are_ignored_everywhere(here: Here, tag: str) -> None:
    with pytest.raises(UsageError):
        here.provider.start(here.order(tag=tag))
    with pytest.raises(UsageError):
        here.provider.end(tag)
    with pytest.raises(UsageError):
        here.provider.remove_disk(tag)
    assert here.provider.inspect([tag]) == {}
    here.tags.clear()


def test_options_that_this_machine_lacks_are_refused_by_name(here: Here) -> None:
    def refusal(**wishes: object) -> str:
        with pytest.raises(UsageError) as refused:
            here.provider.start(here.order(**wishes))
        return refused.value.message

    assert "a single node" in refusal(nodes=2)
    assert "`ubuntu`" in refusal(image="ubuntu")
    assert "vCPUs" in refusal(vcpus=5000)
    assert "memory" in refusal(memory=10**6)
    assert "disk" in refusal(disk_size=10**7)
    assert "`HOME`" in refusal(variables={"HOME": "/"})
    assert not here.provider.folder.exists()
