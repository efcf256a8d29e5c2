"""Asking again and again."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prime_cli.core.errors import Offline, Unreachable
from prime_cli.pods.listing import ListedPod
from prime_cli.pods.watch import changed, new_lines, poll

DOWN = Unreachable("The hub does not answer")


def _answering(*answers: object) -> Callable[[], object]:
    left = iter(answers)

    def ask() -> object:
        answer = next(left)
        if isinstance(answer, Exception):
            raise answer
        return answer

    return ask


def test_every_answer_comes_with_the_same_pause_before_it() -> None:
    slept: list[float] = []
    looks = poll(_answering(1, 2, 3), seconds=7, sleep=slept.append)
    assert [next(looks), next(looks), next(looks)] == [1, 2, 3]
    assert slept == [7, 7]


def test_four_failures_in_a_row_are_sat_out_and_five_are_not() -> None:
    ask = _answering(1, *[DOWN] * 4, 2, *[DOWN] * 5)
    looks = poll(ask, sleep=lambda _: None)
    assert [next(looks), next(looks)] == [1, 2]
    with pytest.raises(Unreachable, match="does not answer"):
        next(looks)


@pytest.mark.parametrize("first", [DOWN, Offline("prime is offline")])
def test_a_hub_that_never_answered_is_not_waited_for(first: Exception) -> None:
    with pytest.raises(Unreachable):
        next(poll(_answering(first, 1), sleep=lambda _: None))


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
