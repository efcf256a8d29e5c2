"""What changed between two looks."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from prime_cli.pods.listing import ListedPod
from prime_cli.pods.watching import changed, new_lines

WEB = ListedPod(
    id="1f2e3d4c",
    name="web",
    gpu="A100_80GB x1",
    status="PROVISIONING",
    created_at="2026-11-21T12:00:00Z",
    stop_at=None,
    price_per_hour=1.65,
    nodes=1,
)
LINES = st.lists(st.sampled_from(["", "a", "b"]), max_size=12)


def test_pods_that_are_new_or_different_are_told_and_others_not() -> None:
    other = replace(WEB, id="other")
    up = replace(WEB, status="ACTIVE")
    assert changed([], [WEB]) == [WEB]
    assert changed([WEB, other], [up, other]) == [up]
    assert changed([WEB], [WEB]) == []


def test_a_pod_that_is_gone_is_told_as_terminated() -> None:
    assert changed([WEB], []) == [replace(WEB, status="TERMINATED")]


@given(LINES, st.lists(st.uuids().map(str), max_size=6), st.integers(1, 20))
def test_what_was_added_to_a_log_is_found_where_every_line_is_another(
    before: list[str], added: list[str], window: int
) -> None:
    old = [f"{number} {line}" for number, line in enumerate(before)]
    assert [*new_lines(old[-window:], [*old, *added][-window:])] == added[-window:]


@given(LINES, LINES)
def test_no_line_is_made_up(before: list[str], now: list[str]) -> None:
    found = [*new_lines(before, now)]
    assert found == now[len(now) - len(found) :]
