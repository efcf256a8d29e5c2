"""Times as people read them."""

from datetime import UTC, datetime, timedelta

import pytest

from prime_cli.commands.pods.tables import countdown, deadline_text

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("left", "words"),
    [
        ({"hours": 2}, "2h"),
        ({"hours": 2, "seconds": -1}, "2h"),
        ({"days": 1, "seconds": -2}, "1d"),
        ({"days": 3, "minutes": -1}, "3d"),
        ({"hours": 1, "minutes": 20}, "1h 20m"),
        ({"hours": 1, "seconds": -1}, "1h"),
        ({"minutes": 10, "seconds": -1}, "9m 59s"),
        ({"seconds": 5}, "5s"),
    ],
)
def test_a_deadline_is_as_far_away_as_it_was_set(left: dict[str, float], words: str) -> None:
    when = NOW + timedelta(**left)
    assert countdown(when.isoformat(), NOW) == words
    assert deadline_text(when, NOW).endswith(f"(in {words})")


def test_a_deadline_that_has_passed_is_overdue() -> None:
    assert countdown((NOW - timedelta(seconds=1)).isoformat(), NOW) == "overdue"
    assert deadline_text(NOW, NOW).endswith("(overdue)")
