"""What is computed from evaluations is computed once."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from prime_cli.hub.services.evaluations.cache import Cache


def test_threads_that_want_the_same_wait_for_the_first() -> None:
    cache: Cache[int] = Cache(2)
    computed: list[int] = []
    begun, others = threading.Event(), threading.Event()

    def compute() -> int:
        begun.set()
        assert others.wait(10)
        computed.append(7)
        return 7

    with ThreadPoolExecutor(8) as threads:
        found = [threads.submit(cache.get, "state", compute)]
        assert begun.wait(10)
        found += [threads.submit(cache.get, "state", compute) for _ in range(6)]
        assert threads.submit(cache.get, "another", lambda: 1).result(10) == 1
        others.set()
        assert [each.result(10) for each in found] == [7] * 7
    assert computed == [7]


def test_what_fails_is_computed_again() -> None:
    cache: Cache[int] = Cache(2)

    with pytest.raises(ZeroDivisionError):
        cache.get("state", lambda: 1 // 0)

    assert cache.get("state", lambda: 3) == 3


def test_after_a_failure_too_only_one_thread_computes() -> None:
    cache: Cache[int] = Cache(2)
    begun, fail, go_on = threading.Event(), threading.Event(), threading.Event()
    computing, most = threading.Semaphore(1), []

    def fail_first() -> int:
        begun.set()
        assert fail.wait(10)
        raise ZeroDivisionError

    def compute() -> int:
        most.append(computing.acquire(blocking=False))
        assert go_on.wait(10)
        if most[-1]:
            computing.release()
        return 7

    with ThreadPoolExecutor(8) as threads:
        first = threads.submit(cache.get, "state", fail_first)
        assert begun.wait(10)
        found = [threads.submit(cache.get, "state", compute)]
        time.sleep(0.1)
        fail.set()
        assert isinstance(first.exception(10), ZeroDivisionError)
        found.append(threads.submit(cache.get, "state", compute))
        time.sleep(0.1)
        go_on.set()
        assert [each.result(10) for each in found] == [7, 7]
    assert most == [True]


def test_only_the_values_used_last_are_kept() -> None:
    cache: Cache[int] = Cache(2)
    for state in ("a", "b", "a", "c"):
        cache.get(state, lambda: 1)

    assert cache.get("a", lambda: 2) == 1
    assert cache.get("b", lambda: 2) == 2
