from dataclasses import replace

import pytest

from prime_cli.core.errors import UsageError
from prime_cli.runs.comparison.sample_size import (
    PowerQuestion,
    need_of,
    need_of_discordance,
    need_of_pair,
)
from prime_cli.runs.comparison.variation import Variation, variation_of
from tests.runs.comparison.sides import side

FIVE_POINTS = PowerQuestion(0.05, None, 1, 0.05, 0.8)


def test_a_run_shows_how_much_varies_between_and_within_its_examples() -> None:
    """A one-way layout by hand: means 0.25, 0.75; MSB = 0.25 * 2 / 1, MSW = 2 * 0.125 / 2."""
    found = variation_of(side("a", [0.0, 0.5], [0.5, 1.0]), 0.5)
    assert found.variance == pytest.approx((0.25 - 0.125) / 2 + 0.125)
    assert found.icc == pytest.approx(0.0625 / 0.1875)
    assert not found.is_binary


def test_rollouts_that_agree_leave_everything_between_examples() -> None:
    assert variation_of(side("a", [0, 0], [1, 1], [1, 1]), 0.5).icc == 1.0


def test_one_rollout_per_example_does_not_show_their_correlation() -> None:
    single = side("a", [0], [1], [1])
    with pytest.raises(UsageError, match="unknown: run a has one of each"):
        variation_of(single, 0.5)
    found = variation_of(single, 0.5, 0.4)
    assert (found.icc, found.icc_from) == (0.4, "given")
    assert variation_of(side("a", [0, 1], [1, 1]), 0.5).icc_from == "estimated"


def test_a_run_without_variation_cannot_plan() -> None:
    with pytest.raises(UsageError, match="are the same"):
        variation_of(side("a", [1], [1]), 0.5)
    with pytest.raises(UsageError, match="fewer than two"):
        variation_of(side("a", [1, 0], [None]), 0.5)


def test_more_rollouts_need_fewer_examples_unless_rollouts_only_repeat() -> None:
    noisy = Variation(0.25, 0.2, 0.5, "a test")
    sizes = [need_of(PowerQuestion(0.05, None, r, 0.05, 0.8), noisy).examples for r in (1, 2, 8)]
    assert sizes[0] is not None
    assert sizes[2] is not None
    assert sizes[0] > 2 * sizes[2]
    certain = Variation(0.25, 1.0, 0.5, "a test")
    same = [need_of(PowerQuestion(0.05, None, r, 0.05, 0.8), certain).examples for r in (1, 8)]
    assert same[0] == same[1]


def test_rewards_of_zero_and_one_are_planned_for_mcnemar() -> None:
    found = need_of(FIVE_POINTS, Variation(0.24, 1.0, 0.5, "a test", 0.6, is_binary=True))
    assert found.method == "exact McNemar, by enumeration"
    assert found.discordance is not None
    again = need_of_discordance(FIVE_POINTS, found.discordance, "a test")
    assert again.examples == found.examples


def test_a_rate_near_one_can_only_fall() -> None:
    found = need_of(FIVE_POINTS, Variation(0.0196, 1.0, 0.5, "a test", 0.98, is_binary=True))
    assert found.examples is not None


def test_the_reverse_question_is_answered_from_the_same_numbers() -> None:
    variation = Variation(0.25, 0.4, 0.5, "a test")
    needed = need_of(FIVE_POINTS, variation).examples
    back = need_of(PowerQuestion(None, needed, 1, 0.05, 0.8), variation).difference
    assert back == pytest.approx(0.05, abs=1e-4)


def test_two_runs_show_how_much_their_differences_vary() -> None:
    graded = need_of_pair(
        FIVE_POINTS, side("a", [0.1], [0.5], [0.9]), side("b", [0.2], [0.4], [0.9])
    )
    assert graded.method == "sign-flip permutation"
    assert graded.spread == pytest.approx(0.1)
    single = replace(FIVE_POINTS, rollouts=None)
    binary = need_of_pair(single, side("a", [0], [1], [1]), side("b", [1], [1], [1]))
    assert binary.discordance == pytest.approx(1 / 3)


@pytest.mark.parametrize(
    "question",
    [
        PowerQuestion(None, None, 1, 0.05, 0.8),
        PowerQuestion(0.1, 10, 1, 0.05, 0.8),
        PowerQuestion(-0.1, None, 1, 0.05, 0.8),
        PowerQuestion(0.1, None, 1, 1.5, 0.8),
        PowerQuestion(0.1, None, 1, 0.9, 0.8),
    ],
)
def test_invalid_numbers_are_refused(question: PowerQuestion) -> None:
    with pytest.raises(UsageError):
        question.check()


def test_more_difference_than_change_is_refused() -> None:
    with pytest.raises(UsageError, match="needs more than"):
        need_of_discordance(FIVE_POINTS, 0.01, "a test")


@pytest.mark.parametrize("rewards", [[0.0, 1.0, 1.0], [0.2, 0.4, 0.9]])
def test_two_runs_that_never_differ_plan_nothing(rewards: list[float]) -> None:
    first, other = (side(name, *([each] for each in rewards)) for name in "ab")
    for question in (FIVE_POINTS, PowerQuestion(None, 50, None, 0.05, 0.8)):
        with pytest.raises(UsageError, match="No example differs between runs a and b"):
            need_of_pair(question, first, other)


def test_two_runs_that_always_differ_alike_plan_nothing() -> None:
    with pytest.raises(UsageError, match=r"Every example differs by \+0\.1"):
        need_of_pair(FIVE_POINTS, side("a", [0.1], [0.2]), side("b", [0.2], [0.3]))


def test_two_runs_are_planned_with_the_rollouts_that_were_requested() -> None:
    first = side("a", *[[0.0, 1.0, 0.0, 0.0]] * 6, *[[1.0, 1.0, 0.0, 1.0]] * 6)
    other = side("b", *[[0.0, 1.0, 0.0, 1.0]] * 5, *[[1.0, 1.0, 1.0, 0.0]] * 7)
    few, seen, many = (
        need_of_pair(PowerQuestion(0.1, None, rollouts, 0.05, 0.8), first, other)
        for rollouts in (2, None, 16)
    )
    assert [need.rollouts for need in (few, seen, many)] == [2, 4, 16]
    assert few.examples is not None
    assert seen.examples is not None
    assert many.examples is not None
    assert few.examples > seen.examples > many.examples
    assert seen.icc_from == "estimated"


def test_graded_runs_of_one_rollout_need_an_icc_for_more() -> None:
    runs = side("a", [0.1], [0.5], [0.9]), side("b", [0.2], [0.4], [0.9])
    more = replace(FIVE_POINTS, rollouts=4)
    with pytest.raises(UsageError, match="correlation"):
        need_of_pair(more, *runs)
    with_icc = need_of_pair(more, *runs, 0.5)
    once = need_of_pair(replace(FIVE_POINTS, rollouts=None), *runs)
    assert with_icc.spread is not None
    assert once.spread is not None
    assert with_icc.spread < once.spread


def test_a_discordance_does_not_show_the_effect_of_more_rollouts() -> None:
    with pytest.raises(UsageError, match="cannot be used for 4 rollouts"):
        need_of_discordance(replace(FIVE_POINTS, rollouts=4), 0.3, "a test")


def test_the_answer_says_what_power_it_has() -> None:
    shares = Variation(0.24, 0.5, 0.5, "a test", 0.6, is_binary=True)
    for rollouts in (1, 4):
        found = need_of(PowerQuestion(0.2, None, rollouts, 0.05, 0.8), shares)
        assert found.expected_power == pytest.approx(0.81, abs=0.011)
