import pytest

from prime_cli.runtime.worker.memory import free_mb, processes_that_fit


@pytest.mark.parametrize(("free", "expected"), [(10, 1), (6000, 60), (10**6, 128)])
def test_processes_share_the_memory_that_is_free(free: int, expected: int) -> None:
    assert processes_that_fit(128, free) == expected


def test_without_knowing_the_memory_processors_set_the_limit() -> None:
    assert processes_that_fit(1, None) == 1
    assert 1 <= processes_that_fit(10**9, None) < 10**6


def test_the_memory_of_this_machine_is_told_or_unknown() -> None:
    found = free_mb()
    assert found is None or found > 0
