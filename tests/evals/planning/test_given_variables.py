"""Variables that are given to an environment by name, by value and by file."""

from pathlib import Path

import pytest

from prime_cli.core.errors import NotFound, UsageError
from prime_cli.evals.planning.given_variables import given_variables, with_always_allowed


def test_names_come_with_commas_and_values_keep_theirs() -> None:
    given = given_variables(["A_KEY,B_KEY", "MODE=strict,fast", "EMPTY="])
    assert given.names == ("A_KEY", "B_KEY", "MODE", "EMPTY")
    assert given.values == {"MODE": "strict,fast", "EMPTY": ""}


def test_a_file_is_read_as_everybody_reads_it_and_the_command_line_wins(tmp_path: Path) -> None:
    file = tmp_path / ".env"
    file.write_text(
        "# keys\nexport A_KEY='one # two'\nMODE = \"strict\\nly\"\nBARE\nLAST=x # why\n",
        encoding="utf-8",
    )
    given = given_variables(["LAST=y"], file)
    assert given.names == ("A_KEY", "MODE", "BARE", "LAST")
    assert given.values == {"A_KEY": "one # two", "MODE": "strict\nly", "LAST": "y"}


def test_a_line_that_assigns_nothing_is_named(tmp_path: Path) -> None:
    file = tmp_path / ".env"
    file.write_text("A=1\n'open\n", encoding="utf-8")
    with pytest.raises(UsageError, match="line 2"):
        given_variables([], file)


@pytest.mark.parametrize("word", ["=x", "A KEY", "A-KEY=1", "sk-pasted-key"])
def test_what_cannot_be_a_name_is_refused_and_not_repeated(word: str) -> None:
    with pytest.raises(UsageError) as caught:
        given_variables([word])
    assert word not in caught.value.message


def test_a_file_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        given_variables([], tmp_path / ".env")


def test_what_is_allowed_for_good_need_not_be_set() -> None:
    assert with_always_allowed(("A",), ("B", "A", "C"), {"B": "1", "A": "1"}) == ("A", "B")
