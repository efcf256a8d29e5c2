"""Agreement of a judge with people, against statsmodels and scikit-learn."""

import random
from importlib import import_module
from typing import Any

import pytest

from prime_cli.runs.statistics.agreement import Confusion, cohens_kappa, confuse, corrected_rate

raters: Any = import_module("statsmodels.stats.inter_rater")
sklearn: Any = import_module("sklearn.metrics")


def tables(count: int) -> list[Confusion]:
    seed = random.Random(7)
    return [Confusion(*(seed.randrange(1, 80) for _ in range(4))) for _ in range(count)]


def answers(table: Confusion) -> tuple[list[bool], list[bool]]:
    """What people and the judge said, one by one."""
    people = [True] * table.passes + [False] * table.false_passes
    judge = [True] * (table.passes + table.false_passes)
    people += [True] * table.false_failures + [False] * table.failures
    return people, judge + [False] * (table.false_failures + table.failures)


@pytest.mark.parametrize("table", tables(50))
def test_kappa_and_its_interval_are_those_of_statsmodels_and_scikit_learn(table: Confusion) -> None:
    people, judge = answers(table)
    found = cohens_kappa(table)
    theirs = raters.cohens_kappa(
        [[table.passes, table.false_failures], [table.false_passes, table.failures]]
    )
    assert found.value == pytest.approx(theirs.kappa, abs=1e-12)
    assert found.value == pytest.approx(sklearn.cohen_kappa_score(people, judge), abs=1e-12)
    assert (found.low, found.high) == pytest.approx((theirs.kappa_low, theirs.kappa_upp), abs=1e-9)
    assert confuse(zip(people, judge, strict=True)) == table


@pytest.mark.parametrize("table", tables(50))
def test_the_corrected_rate_is_that_of_scikit_learns_recalls(table: Confusion) -> None:
    people, judge = answers(table)
    sensitivity = sklearn.recall_score(people, judge)
    specificity = sklearn.recall_score(people, judge, pos_label=False)
    found = corrected_rate(table, 1000, 400)
    if sensitivity + specificity <= 1:
        assert found is None
        return
    expected = (0.4 + specificity - 1) / (sensitivity + specificity - 1)
    assert found is not None
    assert found.value == pytest.approx(min(1, max(0, expected)), abs=1e-12)
    assert 0 <= found.low <= found.value <= found.high <= 1


def test_the_labelled_rollouts_themselves_are_corrected_to_what_people_said() -> None:
    table = Confusion(40, 10, 5, 45)
    found = corrected_rate(table, table.count, table.passes + table.false_passes)
    assert found is not None
    assert found.value == pytest.approx(table.base_rate)


def test_the_corrected_interval_covers_the_truth_as_often_as_it_says() -> None:
    seed, covered = random.Random(3), 0
    for _ in range(400):
        truth = [seed.random() < 0.6 for _ in range(600)]
        judged = [seed.random() < (0.85 if each else 0.2) for each in truth]
        table = confuse(list(zip(truth, judged, strict=True))[:200])
        found = corrected_rate(table, 400, sum(judged[200:]))
        assert found is not None
        covered += found.low <= 0.6 <= found.high
    assert 0.93 <= covered / 400 <= 0.98
