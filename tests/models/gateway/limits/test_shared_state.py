"""What processes know together: it outlives none of them, and survives any of them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prime_cli.models.gateway.limits.shared_state import (
    SIZE,
    TURN_SECONDS,
    ProcessSlot,
    SharedState,
    can_share,
    fair_share,
    open_state,
)


def test_two_see_each_other(tmp_path: Path) -> None:
    one, two = open_state(tmp_path, "e"), open_state(tmp_path, "e")
    assert one.is_shared
    assert one.place != two.place
    one.publish(3, 4)
    two.limit = 7.5
    assert two.callers() == [ProcessSlot(one.place, 3, 4)]
    assert one.limit == 7.5
    one.close()
    assert two.callers() == []
    two.close()


def test_endpoints_are_apart(tmp_path: Path) -> None:
    one, two = open_state(tmp_path, "e"), open_state(tmp_path, "f")
    one.limit = 5
    assert two.limit == 0
    one.close()
    two.close()


def test_a_limit_is_changed_by_one_at_a_time(tmp_path: Path) -> None:
    one, two = open_state(tmp_path, "e"), open_state(tmp_path, "e")
    with one.changing() as mine:
        assert mine
        with two.changing() as also:
            assert not also
    with two.changing() as mine:
        assert mine
    one.close()
    two.close()


DIES = """
import os, sys
from pathlib import Path
from prime_cli.models.gateway.limits.shared_state import open_state
state = open_state(Path(sys.argv[1]), "e")
state.publish(9, 9)
state.limit = 4.0
lock = state.changing()
lock.__enter__()
os.kill(os.getpid(), 9)
"""


def test_what_a_killed_process_held_is_free_again(tmp_path: Path) -> None:
    ours = open_state(tmp_path, "e")
    died = subprocess.run([sys.executable, "-c", DIES, str(tmp_path)], check=False)
    assert died.returncode == -9
    assert [(caller.running, caller.waiting) for caller in ours.callers()] == [(9, 9)]
    ours.forget_the_dead()
    assert ours.callers() == []
    assert ours.limit == 4.0
    with ours.changing() as mine:
        assert mine
    ours.close()


def test_the_living_are_not_forgotten(tmp_path: Path) -> None:
    one, two = open_state(tmp_path, "e"), open_state(tmp_path, "e")
    two.publish(1, 0)
    one.forget_the_dead()
    assert [caller.place for caller in one.callers()] == [two.place]
    one.close()
    two.close()


@pytest.mark.parametrize(
    "content",
    [b"", b"x", b"\xff" * SIZE, os.urandom(SIZE), b"\0" * 100],
    ids=["empty", "short", "ones", "noise", "zeros"],
)
def test_a_file_of_garbage_is_an_empty_one(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "e.limits").write_bytes(content)
    state = open_state(tmp_path, "e")
    assert state.is_shared
    assert (state.limit, state.callers()) == (0.0, [])
    state.close()


def test_torn_numbers_are_read_as_nothing(tmp_path: Path) -> None:
    torn, ours = open_state(tmp_path, "e"), open_state(tmp_path, "e")
    for number in (float("nan"), float("inf"), -3.0, 1e300):
        torn._cells[torn._own] = number
        torn.limit = number
        assert sum(caller.running for caller in ours.callers()) == 0
        assert ours.limit == 0
    torn.close()
    ours.close()


def test_where_nothing_can_be_written_a_process_is_alone(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    state = open_state(blocked, "e")
    assert not state.is_shared
    assert not can_share(blocked)
    assert can_share(tmp_path / "new")
    state.publish(1, 2)
    state.limit = 3
    state.forget_the_dead()
    with state.changing() as mine:
        assert mine
    assert state.callers() == [ProcessSlot(0, 1, 2)]
    state.close()


def test_more_processes_than_places_are_alone(tmp_path: Path) -> None:
    states = [open_state(tmp_path, "e") for _ in range(249)]
    assert [state.is_shared for state in states] == [True] * 248 + [False]
    for state in states:
        state.close()


def test_it_is_private(tmp_path: Path) -> None:
    folder = tmp_path / "limits"
    state: SharedState = open_state(folder, "e")
    assert (folder / "e.limits").stat().st_mode & 0o777 == 0o600
    assert folder.stat().st_mode & 0o777 == 0o700
    state.close()


demands = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), min_size=1, max_size=12)
limits = st.integers(1, 200)
moments = st.floats(0, 1e6)


def callers_of(pairs: list[tuple[int, int]]) -> list[ProcessSlot]:
    return [ProcessSlot(3 * n, running, waiting) for n, (running, waiting) in enumerate(pairs)]


def shares_of(callers: list[ProcessSlot], limit: int, now: float) -> list[int]:
    return [fair_share(caller.place, callers, limit, now) for caller in callers]


def test_who_wants_little_gets_it_and_the_others_divide_the_rest() -> None:
    callers = callers_of([(0, 3), (20, 40), (40, 0)])
    assert sorted(shares_of(callers, 33, 0.0)) == [3, 15, 15]


def test_one_process_has_the_whole_limit() -> None:
    assert fair_share(5, [ProcessSlot(5, 10, 90)], 64, 0.0) == 64


@given(demands, limits, moments)
def test_all_shares_together_fill_the_limit_and_no_more(
    pairs: list[tuple[int, int]], limit: int, now: float
) -> None:
    callers = callers_of(pairs)
    shares = shares_of(callers, limit, now)
    wanted = sum(caller.demand for caller in callers)
    if wanted > limit:
        assert sum(shares) == limit
    used = [min(share, caller.demand) for share, caller in zip(shares, callers, strict=True)]
    assert sum(used) == min(wanted, limit)


@given(demands, limits, moments)
def test_equal_wants_differ_by_one_at_most(
    pairs: list[tuple[int, int]], limit: int, now: float
) -> None:
    callers = [ProcessSlot(caller.place, 0, 500) for caller in callers_of(pairs)]
    shares = shares_of(callers, limit, now)
    assert max(shares) - min(shares) <= 1


@given(st.integers(1, 12), st.integers(1, 12))
def test_everybody_has_a_turn_where_there_are_more_processes_than_calls(
    processes: int, limit: int
) -> None:
    callers = [ProcessSlot(n, 0, 50) for n in range(processes)]
    turns = [shares_of(callers, limit, turn * TURN_SECONDS) for turn in range(processes)]
    assert all(sum(shares) > 0 for shares in zip(*turns, strict=True))
