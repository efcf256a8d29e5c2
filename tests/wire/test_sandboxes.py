from typing import Any

import pytest

from prime_cli.wire.sandboxes import PROVISIONING, RUNNING, Sandbox


def sandbox(started_at: str | None, **more: Any) -> Sandbox:
    told: dict[str, Any] = {"status": RUNNING, "timeout_minutes": 60} | more
    return Sandbox(id="1", name="box", docker_image="slim", started_at=started_at, **told)


@pytest.mark.parametrize(
    ("started_at", "end"),
    [
        ("2026-01-02T03:04:05Z", "2026-01-02T04:04:05+00:00"),
        ("2026-01-02T03:04:05+02:00", "2026-01-02T04:04:05+02:00"),
        ("2026-01-02T03:04:05", "2026-01-02T04:04:05+00:00"),
        ("2026-01-02", "2026-01-02T01:00:00+00:00"),
        ("yesterday", None),
        ("", None),
        (None, None),
    ],
)
def test_it_ends_its_time_after_a_start_that_can_be_read(
    started_at: str | None, end: str | None
) -> None:
    assert sandbox(started_at).expires_at == end


@pytest.mark.parametrize("more", [{"status": PROVISIONING}, {"timeout_minutes": -1}])
def test_without_a_limit_or_before_it_runs_it_has_no_end(more: dict[str, Any]) -> None:
    assert sandbox("2026-01-02T03:04:05Z", **more).expires_at is None


@pytest.mark.parametrize("minutes", [10**10, 10**15])
def test_an_end_beyond_all_years_is_none(minutes: int) -> None:
    assert sandbox("2026-01-02T03:04:05Z", timeout_minutes=minutes).expires_at is None
