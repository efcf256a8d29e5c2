"""Fingers and scripts that know the official client, or vf-eval, find their words here."""

import re
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path
from typing import Any

import pytest

from prime_cli.client.api.client import HubClient
from prime_cli.commands.base import LazyCommand, LazyGroup, load
from prime_cli.commands.official_client import NOT_HERE, OTHERS, WORKS, OfficialRow, read_rows
from tests.helpers.cli import Prime
from tests.helpers.hubs import publish

ROWS = {row.command: row for rows in read_rows().values() for row in rows.values()}


def _command(path: str) -> Any:
    """The command at `path`; words after it are its arguments."""
    found: Any = load("prime_cli.commands:app")
    for word in path.split():
        if not isinstance(found, LazyGroup):
            break
        found = found.commands[word]
        if isinstance(found, LazyCommand):
            found = load(found.target)
    if isinstance(found, LazyGroup) and found.default:
        default: Any = found.commands[found.default]
        found = load(default.target)
    return found


def _named_in(text: str) -> Iterator[list[str]]:
    """The words of each `prime ...` in backticks."""
    for line in re.findall(r"`prime ([^`]+)`", text):
        yield line.split()


def _perhaps_an_environment(row: OfficialRow) -> bool:
    """`prime eval report` runs `report`, if there is one."""
    return row.command in read_rows()[OTHERS] and bool(re.fullmatch("eval [a-z]+", row.command))


def test_every_row_is_answered_as_it_says(prime: Prime, subtests: pytest.Subtests) -> None:
    for row in ROWS.values():
        if row.status != WORKS and not _perhaps_an_environment(row):
            with subtests.test(row.command):
                result = prime(*row.command.split())
                said, _, hint = result.err.partition("hint: ")
                assert result.code == 2
                assert row.ours in hint
                assert row.because in (said if row.status == NOT_HERE else hint)


def test_an_official_option_has_its_long_and_short_name_here(subtests: pytest.Subtests) -> None:
    for row in ROWS.values():
        for spellings in f"{row.options} --plain".split() if row.status == WORKS else ():
            with subtests.test(row.command, option=spellings):
                ours = [{*each.opts, *each.secondary_opts} for each in _command(row.command).params]
                assert any(set(spellings.split("/")) <= names for names in ours)


def test_what_a_row_names_instead_exists() -> None:
    for row in ROWS.values():
        assert row.status == WORKS or row.ours or row.because, row
        assert row.status != NOT_HERE or row.because, row
        for words in _named_in(f"{row.ours} {row.because}"):
            path = takewhile(lambda word: re.fullmatch("[a-z][a-z-]+", word), words)
            options = {word for word in words if word.startswith("-")} - {"--help"}
            command = _command(" ".join(path))
            assert options <= {name for each in command.params for name in each.opts}, row


def test_a_name_of_another_tool_is_an_environment_before_it_is_a_command(
    prime: Prime, tmp_path: Path
) -> None:
    result = prime("eval", "report", "-m", "builtin/oracle", "--offline", cwd=tmp_path)
    assert result.code == 6
    assert "hint: did you mean `prime eval export`?" in result.err
    assert "did you mean `prime eval list`?" in prime("eval", "lst", "--offline").err


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        ("docs", "use `prime COMMAND --help`"),
        ("tui", "use `prime eval view`"),
        ("vf-eval my-env -n 3", "use `prime eval run`"),
        ("train metrics", "use `prime train show RUN`"),
        ("sandbox fork x", "`prime sandbox create`"),
        ("secret set A --value x", "`prime secret set NAME < FILE`"),
        ("pod rm web", "`prime pods terminate`"),
        ("env push --private", "`--visibility private`"),
        ("env upload --private", "`--visibility private`"),
        ("eval my-env --hosted", "omit it"),
        ("env list -c team", "`--context`"),
        ("env list --json", "`--output json`"),
    ],
)
def test_a_word_of_the_official_client_leads_where_it_points(
    prime: Prime, line: str, hint: str
) -> None:
    result = prime(*line.split())
    assert result.code == 2
    assert hint in result.err.partition("hint: ")[2]


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        ("env wobble", "see `prime env --help`"),
        ("env tset", "did you mean `prime env test`?"),
        ("env trsut", "did you mean `prime env trust`?"),
        ("evnironment", "see `prime --help`"),
        ("avail", "did you mean `prime availability`?"),
        ("env list --outptu", "did you mean `--output`?"),
        ("env list -x", "see `prime env list --help`"),
        ("eval run x --rubbish 1", "see `prime eval run --help --all`"),
        ("eval run x --max-retries y", "see `prime eval run --help --all`"),
        ("eval run x --max-retries", "see `prime eval run --help --all`"),
        ("eval run x -n y", "see `prime eval run --help`"),
        ("upload", "did you mean `prime env upload` or `prime sandbox upload`?"),
        ("env rerun", "did you mean `prime eval rerun`?"),
        ("terminate", "did you mean `prime pods terminate` or `prime disks terminate`?"),
        ("--offline env list", "it goes after the command: `prime env list --offline`"),
        ("env --limit 3 list", "it goes after the command: `prime env list --limit`"),
    ],
)
def test_a_nearest_spelling_is_offered_for_misspellings_only(
    prime: Prime, line: str, hint: str
) -> None:
    result = prime(*line.split())
    assert result.code == 2
    assert f"hint: {hint}" in result.err


def test_no_row_is_read_where_every_word_is_known(prime: Prime, hub: HubClient) -> None:
    read_rows.cache_clear()
    prime("env", "list").ok()
    assert read_rows.cache_info().currsize == 0


@pytest.mark.parametrize("line", ["--plain env list", "env --plain list", "env list --plain"])
def test_plain_is_taken_anywhere(prime: Prime, hub: HubClient, tmp_path: Path, line: str) -> None:
    publish(hub, tmp_path, "wordle")
    assert prime(*line.split()).ok().out.startswith("ada/wordle\t0.1.0\t")


def test_an_output_that_was_requested_wins_over_plain(prime: Prime, hub: HubClient) -> None:
    assert prime("--plain", "env", "list", "-o", "json").ok().json["total"] == 0


def test_a_context_before_the_command_is_taken_unless_the_command_has_one(
    prime: Prime, hub: HubClient
) -> None:
    assert "There is no context `nowhere`" in prime("--context", "nowhere", "env", "list").err
    prime("--context", "nowhere", "env", "list", "--context", "local").ok()


@pytest.mark.parametrize(
    ("typed", "about"),
    [
        ("sandbox network create lab", "create"),
        ("sandbox network add lab box", "add"),
        ("sandbox network list --num 5", "list"),
        ("sandbox network rules lab --allow box", "rules"),
        ("sandbox network delete lab --yes", "delete"),
        ("sandbox network get", "get"),
    ],
)
def test_a_word_of_the_official_client_is_judged_before_what_follows_it(
    prime: Prime, typed: str, about: str
) -> None:
    refused = prime(*typed.split())
    assert refused.code == 2
    assert f"`prime sandbox network` has no command `{about}`, because" in refused.err


@pytest.mark.parametrize(
    ("typed", "because"),
    [
        ("train run sft.toml --sft --volume x", "it trains on this machine, not on the platform"),
        ("train list --mine", "it lists the trainings in this folder, whoever started them"),
        ("train list --num 5", "all trainings in this folder are listed"),
        ("train list --team lab", "trainings are folders, and of no team"),
    ],
)
def test_an_option_that_a_training_here_has_no_use_for_is_refused_with_the_reason(
    prime: Prime, typed: str, because: str
) -> None:
    refused = prime(*typed.split())
    assert refused.code == 2
    assert because in refused.err


@pytest.mark.parametrize("option", ["--force", "-f", "--yes"])
def test_stopping_a_training_takes_the_word_that_skips_a_question(
    prime: Prime, option: str
) -> None:
    assert "No local training `x`" in prime("train", "stop", "x", option).err


@pytest.mark.parametrize(
    ("typed", "works"),
    [
        ("--help --json", "env list --output json"),
        ("--json env versions starter/reverse-text", "env versions --output json"),
        ("env --json", "env list --output json"),
    ],
)
def test_a_hint_at_an_option_says_where_it_is_taken(prime: Prime, typed: str, works: str) -> None:
    assert f"as in `prime {works}`" in prime(*typed.split()).err


def test_an_option_that_the_command_does_not_take_is_not_hinted_at(prime: Prime) -> None:
    refused = prime("completion", "bash", "--json")
    assert "hint: see `prime completion bash --help`" in refused.err
