"""Words of verifiers' configuration are told from our own."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prime_cli.commands.eval.run_options import collect_config_args
from prime_cli.core.errors import UsageError
from tests.helpers.cli import Prime, prime_process


def collected(line: str) -> tuple[list[str], list[str]]:
    """(our own words, those for verifiers) of a command line."""
    prefix = "--env.NAME="
    words = collect_config_args(line.split())
    theirs = [word.removeprefix(prefix) for word in words if word.startswith(prefix)]
    return [word for word in words if not word.startswith(prefix)], theirs


@pytest.mark.parametrize(
    ("line", "theirs"),
    [
        ("env --env.agent.max-turns 3 -n 2", ["--env.agent.max-turns", "3"]),
        ("env --env.agent.max-turns=3 -n 2", ["--env.agent.max-turns=3"]),
        ("env --env.taskset.is-hard -n 2", ["--env.taskset.is-hard"]),
        ("env --env.no-strict -n 2", ["--env.no-strict"]),
        ("env --no-env.strict -n 2", ["--no-env.strict"]),
        ("env --env.taskset.seed -1 -n 2", ["--env.taskset.seed", "-1"]),
        ("env --env.taskset.task.stops[*].skip-scoring -n 2", None),
        ("env --no-rich -n 2 @ eval.toml", ["--no-rich", "@", "eval.toml"]),
        ("env -n 2 @eval.toml", ["@", "eval.toml"]),
        ("env -n 2 --env.agent @ agent.toml", ["--env.agent", "@", "agent.toml"]),
        ("env -n 2 --env.agent @agent.toml", ["--env.agent", "@", "agent.toml"]),
        ("env --select.include.ids a b -n 2", ["--select.include.ids", "a", "b"]),
        ("env -n 2 --env-var A=@b", []),
    ],
)
def test_words_of_the_configuration_are_told_from_ours(line: str, theirs: list[str] | None) -> None:
    ours, found = collected(line)
    assert ours[:3] == ["env", "-n", "2"]
    assert found == (theirs if theirs is not None else [line.split()[1]])


@given(st.lists(st.text(st.characters(codec="utf-8"), max_size=12)))
def test_words_that_are_ours_stay_as_they_are(words: list[str]) -> None:
    ours = [word for word in words if not word.startswith(("@", "--"))]
    assert collect_config_args(ours) == ours
    assert collect_config_args(["--", *words]) == ["--", *words]


def test_an_environment_may_come_after_a_flag_and_its_value() -> None:
    assert collected("-n 2 --env.x 3 env") == (["-n", "2", "env"], ["--env.x", "3"])


def test_a_file_sign_without_a_file_is_refused() -> None:
    with pytest.raises(UsageError, match="needs a file"):
        collect_config_args(["env", "@"])


def test_the_help_names_the_dry_run_that_shows_the_flags_of_an_environment(prime: Prime) -> None:
    sentence = "`prime eval run my-env --dry-run` shows the flags that a v1 environment adds."
    for words in (
        ["eval", "run", "my-env"],
        ["eval", "my-env"],
        ["eval", "run", "-n", "3", "my-env"],
    ):
        assert sentence in prime(*words, "--help").out
    assert "--dry-run` shows" not in prime("eval", "run", "--help").out


@pytest.mark.slow
@pytest.mark.network
def test_the_help_has_the_flags_that_a_dry_run_has_found(tmp_path: Path, home: Path) -> None:
    def run(*words: str) -> str:
        done = prime_process("eval", "run", *words, cwd=tmp_path, timeout=600)
        assert done.code == 0, done.err
        return done.out

    prime_process("env", "init", "my-env", cwd=tmp_path, timeout=600)
    typed = ("-m", "builtin/echo", "--env.agent.max-turns", "5", "--env.agent.harness.id", "null")
    run("my-env", *typed, "--dry-run")
    shown = run("./environments/my_env", "--help")
    assert "Flags of my-env@0.1.0 on verifiers 0.4" in shown
    assert re.search(r"--env.max-concurrent-agents +Default: 1\n", shown)
    # What was typed is no default.
    assert re.search(r"--env.agent.max-turns *\n", shown)
    (kept,) = home.rglob("cache/configurations/*/0.1.0.json")
    kept.write_text("[]", encoding="utf-8")
    assert "--dry-run` shows the flags" in run("my-env", "--help")
