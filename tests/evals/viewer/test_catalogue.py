from pathlib import Path

from prime_cli.evals.viewer.catalogue import Pair
from prime_cli.evals.viewer.opened import OpenedRun
from prime_cli.runs.saved_run import open_run
from tests.runs.rows import row
from tests.runs.saving import save_run


def pair(tmp_path: Path) -> Pair:
    first = save_run(tmp_path, row(0), row(1), row(2, reward=0.0), row(3), row(4, reward=None))
    other = save_run(
        tmp_path, row(0), row(1, reward=0.0), row(2, reward=0.5), row(2, 1, 1.0), row(4), row(5)
    )
    return Pair(*(OpenedRun(open_run(folder.path)) for folder in (first, other)))


def test_examples_of_both_runs_are_rows_with_their_difference(tmp_path: Path) -> None:
    both = pair(tmp_path)
    rows = [both.row(index) for index in range(len(both))]
    assert [each.example_id for each in rows] == [0, 1, 2, 3, 4, 5]
    assert [each.difference for each in rows] == [0.0, -1.0, 0.75, None, None, None]
    assert [each.is_flip for each in rows] == [False, True, True, False, False, False]
    assert (both.better, both.worse) == (1, 1)
    assert rows[3].other is None
    assert rows[5].first is None


def test_flips_are_found_in_both_directions(tmp_path: Path) -> None:
    both = pair(tmp_path)
    assert [both.flip(index, 1) for index in (0, 1, 2)] == [1, 2, None]
    assert [both.flip(index, -1) for index in (5, 2, 1)] == [2, 1, None]


def test_a_rollout_is_shown_from_both_sides(tmp_path: Path) -> None:
    both = pair(tmp_path)
    assert both.rollouts(2) == [0, 1]
    first, other = both.pages(2, 1)
    assert first is None
    assert other is not None
    assert other.title == "example 2, rollout 1"
