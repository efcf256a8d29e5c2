"""The number of a pod's user is that of nobody else, before, while and after it is."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

from prime_cli.hub.compute.local.numbers import free_numbers, last_number, running_numbers
from prime_cli.hub.compute.local.removal import end_processes
from prime_cli.hub.compute.local.users import SystemUser, find_user, make_user, remove_user
from tests.helpers.local_pods import Here


@contextmanager
def _running_as(number: int) -> Iterator["subprocess.Popen[bytes]"]:
    argv = ["sleep", "600"]
    process = subprocess.Popen(argv, user=number, group=number, extra_groups=[], cwd="/")
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def test_a_number_that_something_runs_as_is_nobodys_to_have(for_others: Here) -> None:
    """A container's processes, say, for whose user this machine has no name."""
    number = next(free_numbers())
    with _running_as(number) as other:
        assert number in running_numbers()
        assert number not in list(_all_free())
        tag = for_others.up()
        user = find_user(tag)
        assert user is not None
        assert number not in (user.uid, user.gid)
        for_others.provider.end(tag)
        assert other.poll() is None


def _all_free() -> Iterator[int]:
    for number in free_numbers():
        yield number
        if number < 300:
            return


def test_a_number_that_the_next_user_has_got_meanwhile_is_left_alone(for_others: Here) -> None:
    """Two may end one pod: its keeper, and who lost patience with it."""
    # Far from where other tests, at the same time, take theirs.
    former = _take(next(free_numbers(300 + os.getpid() % 500)), for_others)
    folder = for_others.folder(former.name)
    remove_user(former)
    following = _take(former.uid, for_others)
    with _running_as(following.uid) as other:
        end_processes(folder, user=former)
        assert other.poll() is None
        end_processes(folder, user=following)
        other.wait(60)
    remove_user(following)


def _take(number: int, pods: Here) -> SystemUser:
    """A user who has this number."""
    tag = pods.order().tag
    argv = ["useradd", "--system", "--user-group", "--uid", str(number), tag]
    comment = ["--comment", "a pod of prime", "--home-dir", str(pods.folder(tag).home)]
    subprocess.run([*argv, *comment], check=True, timeout=60, cwd="/")
    user = find_user(tag)
    assert user is not None
    return user


def test_numbers_are_read_of_all_that_a_process_may_do(tmp_path: Path) -> None:
    (tmp_path / "17").mkdir()
    words = "Name:\tx\nUid:\t1\t2\t3\t4\nGid:\t5\t6\t7\t8\nGroups:\t9\n"
    (tmp_path / "17" / "status").write_text(words, encoding="utf-8")
    (tmp_path / "18").mkdir()  # a process that ends just now
    assert running_numbers(tmp_path) == frozenset(range(1, 9))
    assert os.geteuid() in running_numbers()


def test_numbers_come_in_turn_so_that_one_that_was_had_comes_last(for_others: Here) -> None:
    pods = for_others.provider.folder
    first, second = for_others.order().tag, for_others.order().tag
    former = make_user(first, for_others.folder(first).home)
    assert last_number(pods) == former.uid
    remove_user(former)
    following = make_user(second, for_others.folder(second).home)
    remove_user(following)
    assert following.uid < former.uid
    in_turn = list(islice(free_numbers(205), 10))
    had = [number for number in in_turn if number >= 205]
    assert had == in_turn[-len(had) :] == sorted(had, reverse=True)


def test_a_number_of_which_a_file_is_left_is_nobodys_to_have(for_others: Here) -> None:
    number = next(free_numbers(last_number(for_others.provider.folder)))
    left = Path(f"/var/tmp/left-by-{number}-{os.getpid()}")
    left.touch()
    try:
        os.chown(left, number, number)
        tag = for_others.order().tag
        user = make_user(tag, for_others.folder(tag).home)
        assert user.uid != number
        remove_user(user)
    finally:
        left.unlink()
