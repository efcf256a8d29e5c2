"""What `prime eval run` refuses, and how; whole runs are in tests/scripts and tests/evals."""

import sys
from pathlib import Path

import pytest

from tests.helpers.cli import Prime
from tests.helpers.terminal import Terminal
from tests.helpers.wild import write_project


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        (("-a", "{x}"), "`-a/--env-args` is not JSON"),
        (("-S", "[1]"), "`-S/--sampling-args` must be a JSON object and is a list"),
        (("-x", "3"), "`-x/--extra-env-kwargs` must be a JSON object and is a number"),
        (("-n", "0"), "`-n 0` is not a number of examples"),
        (("-r", "-1"), "`-r -1` is not a number of rollouts"),
        (("--max-error-rate", "2"), "is not between 0 and 1"),
        (("--max-cost", "0"), "`--max-cost 0` is not an amount in USD"),
        (("--max-cost", "nan"), "`--max-cost`: nan is not a number"),
        (("--token-budget", "0"), "`--token-budget 0` is not a number of tokens"),
        (("--header", "no colon"), "`--header` is not `Name: value`"),
    ],
)
def test_invalid_flags_end_with_2(
    flags: tuple[str, ...], told: str, prime: Prime, tmp_path: Path
) -> None:
    write_project(tmp_path)
    result = prime("eval", "run", "tiny-env", "-m", "builtin/oracle", *flags, cwd=tmp_path)
    assert result.code == 2
    assert told in result.err


def test_a_model_server_that_is_down_ends_with_5_before_anything_is_built(
    prime: Prime, tmp_path: Path
) -> None:
    write_project(tmp_path)
    argv = ("eval", "tiny-env", "-m", "m", "-b", "http://127.0.0.1:1/v1")
    result = prime(*argv, cwd=tmp_path)
    assert result.code == 5
    assert "No model server answers at http://127.0.0.1:1/v1" in result.err
    assert not (tmp_path / "outputs").exists()


def test_a_hosted_model_without_its_key_ends_with_4(prime: Prime, tmp_path: Path) -> None:
    write_project(tmp_path)
    result = prime("eval", "run", "tiny-env", "-m", "gpt-4.1-mini", cwd=tmp_path)
    assert result.code == 4
    assert "OPENAI_API_KEY" in result.err
    assert "builtin/oracle" in result.err


def test_an_unknown_name_ends_with_6(prime: Prime, tmp_path: Path) -> None:
    result = prime("eval", "run", "no-such-env", "-m", "builtin/oracle", cwd=tmp_path)
    assert result.code == 6


def test_a_mistyped_command_is_not_only_taken_for_an_environment(
    prime: Prime, tmp_path: Path
) -> None:
    result = prime("eval", "lst", cwd=tmp_path)
    assert result.code == 6
    assert "did you mean `prime eval list`?" in result.err


def test_failures_are_json_when_data_is(prime: Prime, tmp_path: Path) -> None:
    result = prime("eval", "run", "./nowhere", "--output", "json", cwd=tmp_path)
    assert result.code == 6
    assert result.out == ""
    assert '"code": "not_found"' in result.err


def test_without_a_terminal_nothing_can_be_debugged(prime: Prime, tmp_path: Path) -> None:
    write_project(tmp_path)
    result = prime("eval", "run", "tiny-env", "-m", "builtin/oracle", "--debug", cwd=tmp_path)
    assert result.code == 2
    assert "`--debug` needs a terminal" in result.err


@pytest.mark.skipif(sys.platform == "win32", reason="has no pseudo terminals")
@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("tiny-env", "-c", "4"), "`--debug` runs one rollout at a time"),
        (("nightly.toml",), "`--debug` starts one run of its own"),
    ],
)
def test_what_cannot_be_debugged_is_reported(
    words: tuple[str, ...], told: str, tmp_path: Path
) -> None:
    with Terminal("eval", "run", *words, "--debug", cwd=tmp_path) as terminal:
        assert terminal.end() == 2
    assert told in terminal.text
