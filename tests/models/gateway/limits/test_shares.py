"""Dividing a limit: fair, complete, and nobody starves."""

from hypothesis import given
from hypothesis import strategies as st

from prime_cli.models.gateway.limits.shares import TURN_SECONDS, Caller, fair_share

demands = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), min_size=1, max_size=12)
limits = st.integers(1, 200)
moments = st.floats(0, 1e6)


def callers_of(pairs: list[tuple[int, int]]) -> list[Caller]:
    return [Caller(3 * n, running, waiting) for n, (running, waiting) in enumerate(pairs)]


def shares_of(callers: list[Caller], limit: int, now: float) -> list[int]:
    return [fair_share(caller.place, callers, limit, now) for caller in callers]


def test_who_wants_little_gets_it_and_the_others_divide_the_rest() -> None:
    callers = callers_of([(0, 3), (20, 40), (40, 0)])
    assert sorted(shares_of(callers, 33, 0.0)) == [3, 15, 15]


def test_one_process_has_the_whole_limit() -> None:
    assert fair_share(5, [Caller(5, 10, 90)], 64, 0.0) == 64


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
    callers = [Caller(caller.place, 0, 500) for caller in callers_of(pairs)]
    shares = shares_of(callers, limit, now)
    assert max(shares) - min(shares) <= 1


@given(st.integers(1, 12), st.integers(1, 12))
def test_everybody_has_a_turn_where_there_are_more_processes_than_calls(
    processes: int, limit: int
) -> None:
    callers = [Caller(n, 0, 50) for n in range(processes)]
    turns = [shares_of(callers, limit, turn * TURN_SECONDS) for turn in range(processes)]
    assert all(sum(shares) > 0 for shares in zip(*turns, strict=True))
