"""What a pod is held to: its share by what was asked for, and by whatever holds it here."""

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as some

from prime_cli.hub.compute.local.gpus import read_gpus
from prime_cli.hub.compute.local.groups import CONTROLLERS, find_root
from prime_cli.hub.compute.local.limits import (
    Limits,
    Machine,
    limits_words,
    this_machine,
    what_is_held,
)
from prime_cli.hub.compute.local.machine import offer_of
from prime_cli.hub.compute.local.users import find_user
from tests.helpers.local_pods import Here

GB = 10**9
MACHINE = Machine(vcpus=8, memory=32 * GB, processes=32768)


def test_a_pod_has_what_it_asked_for() -> None:
    share = MACHINE.share(2, 4)
    assert (share.vcpus, share.memory) == (2, 4 * GB)


def test_who_asks_for_nothing_has_all_that_is_not_kept_for_the_machine() -> None:
    share = MACHINE.share(None, None)
    assert (share.vcpus, share.memory) == (None, 28_800_000_000)
    assert MACHINE.share(8, 32).vcpus is None
    assert MACHINE.share(8, 32).memory == share.memory


@given(
    machine=some.builds(
        Machine,
        some.integers(1, 512),
        some.integers(GB // 4, 4096 * GB),
        some.integers(1024, 4_194_304),
    ),
    vcpus=some.none() | some.integers(1, 1024),
    memory=some.none() | some.integers(1, 8192),
)
def test_no_pod_and_no_two_pods_can_have_all_of_a_machine(
    machine: Machine, vcpus: int | None, memory: int | None
) -> None:
    share, together = machine.share(vcpus, memory), machine.pods
    assert 0 < share.memory <= together.memory < machine.memory
    assert 0 < share.processes * 2 <= together.processes <= machine.processes // 2


def test_words_say_what_is_held_and_what_is_not() -> None:
    share = MACHINE.share(2, 4)
    assert limits_words(share, frozenset(CONTROLLERS)) == (
        "held to 2 vCPUs, 4.0 GB of memory, 4096 processes; not held: room on disks"
    )
    assert limits_words(share, frozenset({"pids"})) == (
        "held to 4096 processes; not held: CPUs, memory, room on disks"
    )


def test_this_machine_has_something_to_share() -> None:
    found = this_machine()
    assert min(found.vcpus, found.memory, found.processes) > 0


@pytest.mark.skipif(sys.platform != "linux", reason="as on Linux")
def test_what_is_started_is_ended_first_when_memory_runs_out_and_its_starter_is_not() -> None:
    code = (
        "import subprocess\n"
        "from prime_cli.hub.compute.local.limits import Limits, Machine\n"
        "limits = Limits(Machine(8, 10**10, 32768).share(None, None), None)\n"
        "with limits.applied():\n"
        "    child = subprocess.Popen(['cat', '/proc/self/oom_score_adj', '/proc/self/limits'])\n"
        "child.wait()\n"
        "print(open('/proc/self/oom_score_adj').read())"
    )
    argv = [sys.executable, "-c", code]
    done = subprocess.run(argv, capture_output=True, encoding="utf-8", timeout=120, check=True)
    child, *limits, own = done.stdout.strip().splitlines()
    assert (child, own) == ("500", "0")
    most = {line[:26].strip(): line.split()[-2] for line in limits}
    assert (most["Max processes"], most["Max core file size"]) == ("8192", "0")


def test_without_groups_there_are_still_words() -> None:
    assert "not held: CPUs, memory" in Limits(MACHINE.share(2, 4), None).words


def test_a_pod_is_held_to_what_it_asked_for_and_its_log_says_so(for_others: Here) -> None:
    tag = for_others.up(vcpus=1, memory=1)
    share = this_machine().share(1, 1)
    assert for_others.ssh(tag, "bash -c 'ulimit -u; ulimit -c'").stdout == f"{share.processes}\n0\n"
    assert for_others.ssh(tag, "cat /proc/self/oom_score_adj").stdout == "500\n"
    held = what_is_held()
    assert limits_words(share, held) in for_others.provider.log(tag, 20)
    root = find_root()
    if root is None:
        return
    assert f"/prime/pods/{tag}\n" in for_others.ssh(tag, "cat /proc/self/cgroup").stdout
    for name in held.intersection((root / "cgroup.controllers").read_text("ascii").split()):
        text = (root / "prime" / "pods" / tag / f"{name}.max").read_text(encoding="ascii")
        # The kernel counts memory in pages.
        wanted = int(share.values()[f"{name}.max"].split()[0])
        assert 0 <= wanted - int(text.split()[0]) < 65536, name
    assert for_others.ssh(tag, f"echo 0 > {root}/cgroup.procs").returncode != 0
    for_others.provider.end(tag)
    assert not (root / "prime" / "pods" / tag).exists()


def test_a_fork_bomb_stays_within_its_pod(for_others: Here) -> None:
    bombed, other = for_others.up(), for_others.up()
    user = find_user(bombed)
    assert user is not None
    most = this_machine().share(None, None).processes
    bomb = "while :; do sleep 600 & done"
    said = for_others.ssh(bombed, f"sh -c '{bomb}' > said 2>&1 < /dev/null; tail -n 1 said").stdout
    assert "Cannot fork" in said
    table = subprocess.run(["ps", "-o", "pid=", "-U", bombed], capture_output=True, check=True)
    assert most // 2 < len(table.stdout.splitlines()) <= most
    assert for_others.ssh(other, "echo lives").stdout == "lives\n"
    for_others.provider.end(bombed)
    assert find_user(bombed) is None


def test_an_offer_leaves_open_what_pods_are_held_to_and_nothing_else(tmp_path: Path) -> None:
    gpus = read_gpus("")
    held = offer_of(tmp_path, gpus, taken=False, held=frozenset({"cpu", "memory"}))
    assert (held.vcpu.min_count, held.vcpu.max_count) == (1, held.vcpu.default_count)
    assert (held.memory.default_count or 0) * GB <= max(GB, this_machine().pods.memory)
    loose = offer_of(tmp_path, gpus, taken=False, held=frozenset({"pids"}))
    assert loose.vcpu.max_count is loose.memory.max_count is None
    assert "no pod is held to it" in str(loose.memory.additional_info)
    assert "is held to what it asks for" in str(held.memory.additional_info)
