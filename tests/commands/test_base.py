"""An option whose value may be left out: how words are read, and what is given to the command."""

import sys
from pathlib import Path

import pytest

from prime_cli.commands.base import _with_empty_values
from prime_cli.runs.manifest import CAPPED, INTERRUPTED
from tests.helpers.cli import Prime
from tests.runs.rows import row
from tests.runs.saving import save_run

NAMES = {"--resume": "--resume", "-R": "--resume"}


@pytest.mark.parametrize(
    ("line", "read"),
    [
        ("wordle --resume", "wordle --resume="),
        ("wordle -R", "wordle --resume="),
        ("wordle --resume -n 5", "wordle --resume= -n 5"),
        ("--resume 1f2e3d4c -n 5", "--resume 1f2e3d4c -n 5"),
        ("--resume=1f2e3d4c", "--resume=1f2e3d4c"),
        ("-R1f2e3d4c", "-R1f2e3d4c"),
        ("wordle -- --resume", "wordle -- --resume"),
    ],
)
def test_the_value_is_omitted_before_another_option_and_at_the_end(line: str, read: str) -> None:
    assert list(_with_empty_values(line.split(), NAMES)) == read.split()


def test_without_an_environment_a_run_must_be_named(prime: Prime, tmp_path: Path) -> None:
    for line in ("eval run", "eval run --resume", "eval run -m builtin/oracle"):
        result = prime(*line.split(), cwd=tmp_path)
        assert result.code == 2
        assert "needs ENVIRONMENT" in result.err
        assert "--resume RUN" in result.err


def test_the_newest_run_that_came_to_no_end_is_named(prime: Prime, tmp_path: Path) -> None:
    save_run(tmp_path, row(0), started="2026-01-01T00:00:00+00:00", status=INTERRUPTED)
    newest = save_run(tmp_path, row(0), started="2026-01-02T00:00:00+00:00", status=CAPPED)
    save_run(tmp_path, row(0), started="2026-01-03T00:00:00+00:00")
    result = prime("eval", "run", "--resume", cwd=tmp_path)
    assert f"`prime eval run --resume {newest.run_id}`" in result.err


def test_a_missing_run_ends_with_6(prime: Prime, tmp_path: Path) -> None:
    result = prime("eval", "run", "--resume", "1f2e3d4c", cwd=tmp_path)
    assert result.code == 6
    assert "No local run `1f2e3d4c`" in result.err


def test_resume_and_new_exclude_each_other(prime: Prime, tmp_path: Path) -> None:
    result = prime("eval", "run", "wordle", "--new", "--resume", cwd=tmp_path)
    assert result.code == 2
    assert "mutually exclusive" in result.err


@pytest.mark.parametrize("word", ["ada/wordle", "./wordle", "suite.toml", "-n"])
def test_what_can_be_no_command_is_not_looked_up_among_the_official_ones(
    prime: Prime, word: str
) -> None:
    for name in (
        official := "prime_cli.commands.official_client",
        "prime_cli.commands.suggestions",
    ):
        sys.modules.pop(name, None)
    assert prime("eval", word, "-m", "builtin/none", "--help").code == 0
    assert official not in sys.modules
