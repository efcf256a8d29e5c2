"""Pods for others: each with a system user of its own, and nothing between two of them."""

import os
import pwd
import shutil
import signal
from pathlib import Path

import pytest

from prime_cli.core.errors import StorageFailed, UsageError
from prime_cli.hub.compute.local.lock import keeper_of
from prime_cli.hub.compute.local.removal import remove_folder
from prime_cli.hub.compute.local.served import prepare_ground
from prime_cli.hub.compute.local.users import find_user
from prime_cli.hub.compute.provider import Mount
from tests.helpers.local_pods import Here, wait_until
from tests.helpers.tools import needs_root, require


def _processes_of(uid: int) -> list[str]:
    found = []
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            lines = status.read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError:
            continue
        fields = dict(line.split(":", 1) for line in lines if ":" in line)
        if str(uid) in fields["Uid"].split() and "Z" not in fields["State"]:
            found.append(fields["Name"].strip())
    return found


def test_each_pod_has_a_user_of_its_own_who_is_gone_with_it(for_others: Here) -> None:
    tag = for_others.up()
    user = find_user(tag)
    assert user is not None
    assert for_others.ssh(tag, "id -un; pwd").stdout.split() == [
        tag,
        str(for_others.folder(tag).home),
    ]
    mine = Path(f"/tmp/{tag}")
    survivors = f"mkdir -p {mine}/deep && touch {mine}/deep/f; nohup setsid sleep 4324 >/dev/null"
    for_others.ssh(tag, f"{survivors} 2>&1 < /dev/null & sleep 0.5")
    assert mine.exists()
    assert "sleep" in _processes_of(user.uid)
    for_others.provider.end(tag)
    assert find_user(tag) is None
    assert _processes_of(user.uid) == []
    assert not mine.exists()
    assert tag not in Path("/etc/group").read_text(encoding="utf-8")
    assert for_others.provider.list_tags("") == []


def test_two_pods_cannot_read_enter_or_end_each_other(for_others: Here) -> None:
    first, second = for_others.up(), for_others.up(variables={"SECRET": "swordfish"})
    for_others.ssh(second, "echo private > f; chmod 644 f; nohup sleep 4325 >/dev/null 2>&1 &")
    other = find_user(second)
    assert other is not None
    folder = for_others.folder(second)
    for command in (
        f"cat {folder.home}/f",
        f"ls {folder.home}",
        f"ls {folder.path}",
        f"cat {folder.ssh}/session",
        f"cat {folder.plan}",
        f"ls {folder.path.parent}",
        f"ls {folder.path.parent}/disks",
        "cat ../order.json",
        "cat ../log",
        "touch ../ssh/x",
        "echo > ../ssh/authorized_keys",
        f"pkill -u {second} || kill -9 $(ps -o pid= -u {second})",
        f"cat $(ps -o pid= -u {second} | head -1 | sed 's|[ ]*|/proc/|')/environ",
        "sudo -n true",
        "su -c true",
    ):
        assert for_others.ssh(first, command).returncode != 0, command
    assert "sleep" in _processes_of(other.uid)


def test_no_program_and_no_group_gives_a_pod_more_rights(for_others: Here) -> None:
    tag = for_others.up()
    user = find_user(tag)
    assert user is not None
    assert for_others.ssh(tag, "id -G").stdout.split() == [str(user.gid)]
    assert "NoNewPrivs:\t1" in for_others.ssh(tag, "cat /proc/self/status").stdout


def test_a_user_without_a_keeper_is_ended_too(for_others: Here) -> None:
    tag = for_others.up()
    user = find_user(tag)
    assert user is not None
    for_others.ssh(tag, "env -i nohup setsid sleep 4326 > /dev/null 2>&1 < /dev/null &")
    keeper = keeper_of(for_others.folder(tag))
    assert keeper is not None
    os.kill(keeper, signal.SIGKILL)
    for_others.provider.end(tag)
    assert find_user(tag) is None
    assert _processes_of(user.uid) == []
    assert for_others.provider.list_tags("") == []


def test_a_user_without_a_folder_is_found_and_ended(for_others: Here) -> None:
    tag = for_others.up()
    user = find_user(tag)
    assert user is not None
    keeper = keeper_of(for_others.folder(tag))
    assert keeper is not None
    os.kill(keeper, signal.SIGKILL)
    shutil.rmtree(for_others.folder(tag).path)
    assert for_others.provider.list_tags("prime-") == [tag]
    for_others.provider.end(tag)
    assert for_others.provider.list_tags("") == []
    assert find_user(tag) is None
    assert _processes_of(user.uid) == []


def test_a_user_that_makes_processes_without_end_is_ended(for_others: Here) -> None:
    tag = for_others.up()
    user = find_user(tag)
    assert user is not None
    script = "import os, time\nwhile True:\n os.fork() or time.sleep(0.05); time.sleep(0.05)"
    bomb = f"ulimit -u 60; nohup setsid python3 -c '{script}' > /dev/null 2>&1 < /dev/null &"
    for_others.ssh(tag, bomb)
    for_others.provider.end(tag)
    assert _processes_of(user.uid) == []


def test_a_process_that_kills_whoever_would_end_it_and_is_never_seen_twice_ends(
    for_others: Here,
) -> None:
    require("perl")
    tag = for_others.up()
    script = "$until = time + 60; while (time < $until) { kill 9, -1; fork and POSIX::_exit(0) }"
    hydra = f"nohup setsid perl -MPOSIX -e '{script}' > /dev/null 2>&1 < /dev/null &"
    for_others.ssh(tag, hydra)
    look = for_others.provider.inspect
    wait_until(lambda: look([tag])[tag].status == "ERROR", what="it has killed its sshd")
    for_others.provider.end(tag)
    assert find_user(tag) is None
    # Whoever is left of it has the number of the next user, and so the right to kill all of it.
    following = for_others.up()
    assert for_others.ssh(following, "sleep 1; echo lives").stdout == "lives\n"


def test_what_outlives_processes_goes_with_the_user(for_others: Here) -> None:
    require("ipcmk")
    tag = for_others.up()
    user = find_user(tag)
    assert user is not None
    made = for_others.ssh(tag, "ipcmk -M 4096 && ipcmk -Q && ipcmk -S 1")
    assert made.returncode == 0, made
    assert len(_shared_by(user.uid)) == 3
    for_others.provider.end(tag)
    assert _shared_by(user.uid) == []


def _shared_by(uid: int) -> list[str]:
    found = []
    for kind in ("shm", "msg", "sem"):
        first, *lines = Path(f"/proc/sysvipc/{kind}").read_text(encoding="ascii").splitlines()
        maker = first.split().index("cuid")
        found += [line for line in lines if line.split()[maker] == str(uid)]
    return found


@needs_root
def test_root_opens_nothing_that_it_cannot_remove(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = tmp_path / "disk" / "kept"
    kept.parent.mkdir()
    kept.touch(mode=0o400)
    (tmp_path / "rm").write_text("#!/bin/sh\nexit 1\n", encoding="utf-8")
    (tmp_path / "rm").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    with pytest.raises(StorageFailed):
        remove_folder(kept.parent)
    assert kept.stat().st_mode & 0o777 == 0o400


def test_a_disk_goes_from_one_user_to_the_next(for_others: Here) -> None:
    provider = for_others.provider
    provider.make_disk("prime-disk-1", 1)
    disks = (Mount("11111111", "data", "prime-disk-1"),)
    first = for_others.up(disks=disks)
    assert for_others.ssh(first, "echo kept > data/f && ln -s /etc data/l").returncode == 0
    provider.end(first)
    assert (provider.folder / "disks" / "prime-disk-1" / "f").stat().st_uid == 0
    second = for_others.up(disks=disks)
    assert for_others.ssh(second, "cat data/f && echo more >> data/f").stdout == "kept\n"
    assert Path("/etc").stat().st_uid == 0
    third = for_others.up()
    disk = provider.folder / "disks" / "prime-disk-1"
    assert for_others.ssh(third, f"ls {disk}").returncode != 0


def test_a_disk_of_a_user_whom_the_machine_has_lost_is_given_to_the_next(
    for_others: Here, tmp_path: Path
) -> None:
    """As in a container that is made anew, with the folder of the pods from outside."""
    provider = for_others.provider
    used = for_others.up(disks=(_disk(for_others, "prime-disk-1"),))
    user = find_user(used)
    assert user is not None
    lost = _disk(for_others, "prime-disk-2")
    path, other = provider.folder / "disks" / "prime-disk-2", tmp_path / "other"
    other.touch()
    (path / "f").write_bytes(b"kept")
    (path / "l").symlink_to(other)
    for each in (path / "f", path / "l", path):
        os.chown(each, 54321, 54321, follow_symlinks=False)
    os.chown(other, 54321, 54321)
    prepare_ground(provider.folder, "127.0.0.1")
    assert {each.lstat().st_uid for each in (path, *path.iterdir())} == {0}
    assert other.stat().st_uid == 54321
    assert (provider.folder / "disks" / "prime-disk-1").stat().st_uid == user.uid
    again = for_others.up(disks=(lost,))
    assert for_others.ssh(again, "cat data/f").stdout == "kept"


def _disk(for_others: Here, tag: str) -> Mount:
    for_others.provider.make_disk(tag, 1)
    return Mount("11111111", "data", tag)


@needs_root
def test_a_ground_that_pods_could_change_or_not_pass_is_refused(
    for_others: Here, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match="closed to others"):
        prepare_ground(tmp_path / "pods", "127.0.0.1")
    open_to_all = for_others.provider.folder / "open"
    open_to_all.mkdir()
    open_to_all.chmod(0o777)
    with pytest.raises(UsageError, match="may be changed"):
        prepare_ground(open_to_all / "pods", "127.0.0.1")
    nobody = for_others.provider.folder / "nobody"
    nobody.mkdir(mode=0o711)
    os.chown(nobody, pwd.getpwnam("nobody").pw_uid, -1)
    with pytest.raises(UsageError, match="belongs to others"):
        prepare_ground(nobody, "127.0.0.1")


@needs_root
@pytest.mark.parametrize("host", ["192.0.2.1", "no such host", "0.0.0.0", "::"])
def test_a_host_that_is_not_here_is_refused(for_others: Here, host: str) -> None:
    with pytest.raises(UsageError, match=r"address of this machine|means all addresses"):
        prepare_ground(for_others.provider.folder, host)
