"""Asking again and again."""

from collections.abc import Callable

import pytest

from prime_cli.core.errors import Offline, Unreachable
from prime_cli.pods.polling import polled

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
    looks = polled(_answering(1, 2, 3), seconds=7, sleep=slept.append)
    assert [next(looks), next(looks), next(looks)] == [1, 2, 3]
    assert slept == [7, 7]


def test_four_failures_in_a_row_are_sat_out_and_five_are_not() -> None:
    ask = _answering(1, *[DOWN] * 4, 2, *[DOWN] * 5)
    looks = polled(ask, sleep=lambda _: None)
    assert [next(looks), next(looks)] == [1, 2]
    with pytest.raises(Unreachable, match="does not answer"):
        next(looks)


@pytest.mark.parametrize("first", [DOWN, Offline("prime is offline")])
def test_a_hub_that_never_answered_is_not_waited_for(first: Exception) -> None:
    with pytest.raises(Unreachable):
        next(polled(_answering(first, 1), sleep=lambda _: None))
