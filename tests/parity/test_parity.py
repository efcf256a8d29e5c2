"""What a release's own evaluator says of an environment, prime says too, row by row.

A run takes some cases of each family by chance; `PRIME_TEST_SEED=…` repeats its choice, and
`benchmarks/parity/run.py` runs them all.
"""

import random
from pathlib import Path

import pytest

from tests.parity.comparison import Differences, Outcome, Row, compare
from tests.parity.matrix import FAMILIES, Family, run_cell

CASES = 1
"""Of each family."""


@pytest.mark.slow
@pytest.mark.sample(1, "family")
@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_rewards_and_errors_are_those_of_the_release_itself(
    family: Family, tmp_path: Path, seed: int
) -> None:
    for number, (release, case) in enumerate(family.some(random.Random(seed), CASES)):
        finding = run_cell(release, case, tmp_path / str(number))
        assert finding.holds, str(finding)


def _outcome(*rows: Row) -> Outcome:
    return Outcome(rows, 0, "")


def test_rollouts_of_an_example_are_paired_by_their_answers() -> None:
    wrong, right = Row(0, ("no",), 0.0), Row(0, ("yes",), 1.0)
    assert compare(_outcome(wrong, right), _outcome(right, wrong)) == Differences()


def test_another_reward_an_error_and_another_conversation_are_counted() -> None:
    theirs = _outcome(Row(0, ("a",), 0.1 + 0.2), Row(1, ("b",), 1.0), Row(2, ("c",), 0.0))
    ours = _outcome(Row(0, ("a",), 0.3), Row(1, ("b",), 0.5), Row(2, ("d",), None, is_error=True))
    found = compare(theirs, ours)
    assert found == Differences(rewards=1, errors=1, conversations=1)
    assert len(found.told) == 2


def test_what_each_agent_wins_is_compared_where_their_mean_is_equal() -> None:
    theirs = Row(0, ("a",), 0.0, agents={"first": 1.0, "second": -1.0})
    ours = Row(0, ("a",), 0.0, agents={"first": -1.0, "second": 1.0})
    assert compare(_outcome(theirs), _outcome(ours)) == Differences(rewards=1)
    assert compare(_outcome(theirs), _outcome(Row(0, ("a",), 0.0))) == Differences(rewards=1)


def test_a_row_that_only_one_side_has_is_another_conversation() -> None:
    row = Row(0, ("a",), 1.0)
    assert compare(_outcome(row, row), _outcome(row)) == Differences(conversations=1)
    assert compare(_outcome(), _outcome(row)) == Differences(conversations=1)
