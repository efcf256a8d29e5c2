"""Pieces of sentences."""

import pytest

from prime_cli.core.phrases import counted, some_of


@pytest.mark.parametrize(
    ("count", "told"), [(0, "0 runs"), (1, "1 run"), (2, "2 runs"), (1_000, "1000 runs")]
)
def test_a_count_agrees_with_its_noun(count: int, told: str) -> None:
    assert counted(count, "run") == told


def test_a_noun_may_have_a_plural_of_its_own() -> None:
    assert counted(1, "entry", "entries") == "1 entry"
    assert counted(3, "entry", "entries") == "3 entries"


@pytest.mark.parametrize(
    ("names", "told"),
    [
        ([], ""),
        (["a"], "a"),
        (["a", "b", "c"], "a, b, c"),
        (["a", "b", "c", "d"], "a, b, c and 1 more"),
        (["a", "b", "c", "d", "e"], "a, b, c and 2 more"),
    ],
)
def test_a_list_says_how_much_of_it_is_left_out(names: list[str], told: str) -> None:
    assert some_of(names) == told
