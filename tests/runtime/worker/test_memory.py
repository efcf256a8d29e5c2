import pytest

from prime_cli.runtime.worker import memory


def test_never_more_than_wanted_and_never_none() -> None:
    assert memory.processes_that_fit(1) == 1
    assert 1 <= memory.processes_that_fit(10**9) < 10**9


@pytest.mark.parametrize(("free", "expected"), [(10, 1), (6000, 60), (10**6, 128), (None, None)])
def test_processes_share_the_memory_that_is_free(
    monkeypatch: pytest.MonkeyPatch, free: int | None, expected: int | None
) -> None:
    monkeypatch.setattr(memory, "_free_mb", lambda: free)
    found = memory.processes_that_fit(128)
    assert found == expected or (expected is None and 1 <= found <= 128)
