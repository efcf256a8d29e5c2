"""Groups of pods: in a folder that looks like the kernel's, and in the kernel's own."""

import os
import secrets
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from prime_cli.core.errors import StorageFailed
from prime_cli.hub.compute.local.groups import (
    CONTROLLERS,
    Group,
    Share,
    find_root,
    kill_group,
    make_group,
    remove_group,
)
from tests.helpers.local_pods import wait_until

MB = 10**6
SHARE = Share(vcpus=2, memory=300 * MB, processes=50)
TOGETHER = Share(vcpus=None, memory=900 * MB, processes=500)
TAG = "prime-a"
SLEEP = [sys.executable, "-c", "import time; time.sleep(600)"]


def _looks_like(root: Path, *names: str) -> Path:
    """A folder with the files that the kernel would make, and the group of TAG in it."""
    pods = root / "prime" / "pods"
    (pods / TAG).mkdir(parents=True)
    for folder in (root, pods.parent, pods, pods / TAG):
        for name in names:
            (folder / name).touch()
    return pods / TAG


def test_a_group_is_held_to_its_share_and_all_together_to_theirs(tmp_path: Path) -> None:
    path = _looks_like(tmp_path, *SHARE.values(), "cgroup.subtree_control")
    group = make_group(tmp_path, TAG, SHARE, TOGETHER)
    assert group == Group(path, frozenset(CONTROLLERS))
    assert {name: (path / name).read_text(encoding="ascii") for name in SHARE.values()} == {
        "cpu.max": "200000 100000",
        "memory.max": "300000000",
        "memory.swap.max": "0",
        "pids.max": "50",
    }
    together = path.parent
    assert (together / "cpu.max").read_text(encoding="ascii") == "max 100000"
    assert (together / "memory.max").read_text(encoding="ascii") == "900000000"
    for folder in (tmp_path, together.parent, together):
        assert (folder / "cgroup.subtree_control").read_text(encoding="ascii") == "+pids"


def test_what_this_kernel_does_not_hold_is_not_said_to_be_held(tmp_path: Path) -> None:
    path = _looks_like(tmp_path, "pids.max", "memory.swap.max")
    assert make_group(tmp_path, TAG, SHARE, TOGETHER) == Group(path, frozenset({"pids"}))
    assert not (path / "memory.max").exists()
    assert not kill_group(tmp_path, TAG)


def test_a_process_that_cannot_enter_a_group_is_told_so(tmp_path: Path) -> None:
    with pytest.raises(StorageFailed, match="cannot enter"), Group(tmp_path, frozenset()).entered():
        pass


_TMPFS = "31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755"
_FIRST = "32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu"


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw", "/sys/fs/cgroup"),
        ("30 23 0:26 / /sys/fs/c\\040g rw shared:9 master:1 - cgroup2 none rw", "/sys/fs/c g"),
        ("30 23 0:26 / /sys/fs/cgroup ro,nosuid - cgroup2 cgroup rw", None),
        ("30 23 0:26 /../.. /sys/fs/cgroup rw,nosuid - cgroup2 cgroup rw", None),
        ("30 23 0:26 /docker/1 /sys/fs/cgroup rw,nosuid - cgroup2 cgroup rw", None),
    ],
)
def test_a_hierarchy_is_taken_where_it_is_whole_and_may_be_written(
    tmp_path: Path, line: str, found: str | None
) -> None:
    mounts = tmp_path / "mountinfo"
    mounts.write_text(f"{_TMPFS}\n{_FIRST}\n{line}\n", encoding="utf-8")
    assert find_root(mounts) == (Path(found) if found else None)


def test_without_a_hierarchy_nothing_is_held_killed_or_removed(tmp_path: Path) -> None:
    assert find_root(tmp_path / "none") is None
    assert not kill_group(None, TAG)
    remove_group(None, TAG)


@pytest.fixture
def root() -> Path:
    found = find_root()
    if found is None or os.geteuid() != 0:
        pytest.skip("no groups of version 2 may be made here")
    return found


@pytest.fixture
def group(root: Path) -> Iterator[Group]:
    tag = f"prime-test{secrets.token_hex(4)}"
    made = make_group(root, tag, SHARE, TOGETHER)
    yield made
    kill_group(root, tag)
    remove_group(root, tag)


def _groups_of(pid: int | str) -> str:
    lines = Path(f"/proc/{pid}/cgroup").read_text(encoding="utf-8").splitlines()
    return next(line for line in lines if line.startswith("0::"))


def _run_in(group: Group, code: str) -> "subprocess.CompletedProcess[bytes]":
    """Run code of Python in a group; it is killed there, which ends no test."""
    entering = f"import os; open({str(group.path / 'cgroup.procs')!r}, 'w').write('0')\n"
    argv = [sys.executable, "-c", entering + code]
    return subprocess.run(argv, capture_output=True, timeout=300, check=False)


def test_what_is_started_within_is_in_the_group_and_its_starter_is_not(group: Group) -> None:
    code = (
        "import subprocess, sys\n"
        "from pathlib import Path\n"
        "from prime_cli.hub.compute.local.groups import Group\n"
        "with Group(Path(sys.argv[1]), frozenset()).entered():\n"
        "    child = subprocess.Popen(['cat', '/proc/self/cgroup'])\n"
        "child.wait()\n"
        "print(Path('/proc/self/cgroup').read_text())"
    )
    argv = [sys.executable, "-c", code, str(group.path)]
    done = subprocess.run(argv, capture_output=True, encoding="utf-8", timeout=120, check=True)
    child, parent = (line for line in done.stdout.splitlines() if line.startswith("0::"))
    assert child.endswith(f"/prime/pods/{group.path.name}")
    assert parent.endswith("/prime/keepers")


def test_all_that_is_in_a_group_is_killed_at_once_and_nothing_is_left_of_it(
    root: Path, group: Group
) -> None:
    if not (group.path / "cgroup.kill").exists():
        pytest.skip("this kernel is older than cgroup.kill")
    with subprocess.Popen(SLEEP) as first, subprocess.Popen(SLEEP) as second:
        for process in (first, second):
            (group.path / "cgroup.procs").write_text(str(process.pid), encoding="ascii")
        assert kill_group(root, group.path.name)
        assert first.wait(timeout=120) == second.wait(timeout=120) == -9
    remove_group(root, group.path.name)
    assert not group.path.exists()
    remove_group(root, group.path.name)


def test_a_group_made_again_keeps_who_is_in_it(root: Path, group: Group) -> None:
    with subprocess.Popen(SLEEP) as inside:
        (group.path / "cgroup.procs").write_text(str(inside.pid), encoding="ascii")
        assert make_group(root, group.path.name, SHARE, TOGETHER) == group
        assert group.path.name in _groups_of(inside.pid)
        inside.kill()
        wait_until(lambda: inside.poll() is not None, what="it ended")


def test_a_group_is_held_by_all_controllers_that_are_there(root: Path, group: Group) -> None:
    there = (root / "cgroup.controllers").read_text(encoding="ascii").split()
    assert group.held == set(CONTROLLERS).intersection(there)


def test_more_processes_than_a_share_has_are_refused(group: Group) -> None:
    _require(group, "pids")
    # Children keep no end of a pipe, for which who reads it would wait.
    code = (
        "import time\ncount = 0\ntry:\n"
        " while True:\n"
        "  if os.fork() == 0: os.closerange(0, 3); time.sleep(600)\n"
        "  count += 1\n"
        "except BlockingIOError: print(count)"
    )
    assert _run_in(group, code).stdout == b"49\n"
    wait_until(lambda: _count(group) == 49, what="the first is gone")


def _count(group: Group) -> int:
    return int((group.path / "pids.current").read_text(encoding="ascii"))


def test_more_memory_than_a_share_has_ends_the_one_who_takes_it(group: Group) -> None:
    _require(group, "memory")
    assert _run_in(group, "bytearray(100_000_000)").returncode == 0
    assert _run_in(group, "bytearray(600_000_000)").returncode == -9


def test_no_more_time_is_had_than_that_of_the_cpus_of_a_share(group: Group) -> None:
    _require(group, "cpu")
    (group.path / "cpu.max").write_text("10000 100000", encoding="ascii")
    _run_in(group, "import time\nuntil = time.time() + 2\nwhile time.time() < until: pass")
    stat = (group.path / "cpu.stat").read_text(encoding="ascii").split()
    assert int(stat[stat.index("nr_throttled") + 1]) > 0


def _require(group: Group, name: str) -> None:
    if name not in group.held:
        pytest.skip(f"`{name}` is held by groups of version 1 (boot with cgroup_no_v1=all)")
