from dataclasses import replace

import pytest

from prime_cli.runs.comparison.compare import HIGHER, LOWER, UNDECIDED, CompareOptions, compare_all
from tests.runs.comparison.sides import side

ALL_WRONG = side("a", *[[0]] * 20)
ALL_RIGHT = side("b", *[[1]] * 20)
SOME_RIGHT = side("c", *[[1]] * 6, *[[0]] * 14)


def test_the_other_run_is_higher_lower_or_not_decided() -> None:
    couples = [(ALL_WRONG, ALL_RIGHT), (ALL_RIGHT, ALL_WRONG), (ALL_WRONG, ALL_WRONG)]
    found = compare_all(couples, CompareOptions())
    assert [each.verdict for each in found] == [HIGHER, LOWER, UNDECIDED]
    assert [each.difference for each in found] == [1.0, -1.0, 0.0]
    assert found[0].sentence.startswith("b scores higher than a")
    assert found[2].sentence == "not decisive: every example has the same reward in both runs"


def test_what_is_decisive_alone_may_not_be_among_several() -> None:
    (alone,) = compare_all([(ALL_WRONG, SOME_RIGHT)], CompareOptions())
    assert (alone.verdict, alone.p) == (HIGHER, alone.p_adjusted)
    several = compare_all([(ALL_WRONG, SOME_RIGHT)] * 2, CompareOptions())
    assert [each.verdict for each in several] == [UNDECIDED, UNDECIDED]
    assert several[0].p_adjusted == pytest.approx(2 * alone.p)
    assert "Holm over 2" in several[0].sentence


def test_flips_are_the_examples_that_changed_the_largest_change_first() -> None:
    (found,) = compare_all(
        [(side("a", [0], [1], [0.5]), side("b", [0.25], [0], [0.5]))], CompareOptions()
    )
    assert [(flip.example_id, flip.first, flip.other) for flip in found.flips] == [
        (1, 1.0, 0.0),
        (0, 0.0, 0.25),
    ]


def test_what_else_differs_is_noted() -> None:
    first = replace(side("a", [0], [1]), settings={"sampling": {}})
    other = replace(side("b", [0], [1]), settings={"sampling": {"temperature": 1}})
    (found,) = compare_all([(first, other)], CompareOptions())
    assert found.notes == ['sampling differ: {} and {"temperature":1}']


def test_errors_are_counted_of_the_whole_run() -> None:
    (found,) = compare_all([(side("a", [0, None], [1]), side("b", [0], [1]))], CompareOptions())
    assert (found.first.errors, found.first.rollouts, found.other.errors) == (1, 3, 0)
