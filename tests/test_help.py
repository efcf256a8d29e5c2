"""Help that helps: a summary, an example and related commands for every command.

`tests/test_completions.py` shows that the texts here are what each command prints.
"""

import re

import pytest

from prime_cli.commands.base import load
from prime_cli.commands.tree import read_tree
from prime_cli.terminal.static_help import HELP_COLUMNS, static_output
from prime_cli.terminal.static_help.command_tree import CommandNode
from tests.helpers.cli import Prime

NODES = {node.path: node for node in read_tree().walk()}
COMMANDS = {path: node for path, node in NODES.items() if not node.commands}


LONG = ("eval run", "train run")


def _help(node: CommandNode) -> str:
    return static_output([*node.path.split()[1:], "--help"], HELP_COLUMNS) or ""


def _listed(text: str) -> list[str]:
    """The options that a help lists."""
    return re.findall(r"^  (-[^ ,]+)", text, re.MULTILINE)


def test_help_has_the_summary_and_fits_eighty_columns(subtests: pytest.Subtests) -> None:
    for path, node in NODES.items():
        with subtests.test(path):
            shown = _help(node)
            assert node.summary in " ".join(shown.split())
            assert [line for line in shown.splitlines() if len(line) > 80] == []


def test_the_table_says_what_the_command_says(subtests: pytest.Subtests) -> None:
    for path in NODES.keys() - COMMANDS.keys():
        with subtests.test(path):
            found = load("prime_cli.commands:app")
            for word in path.split()[1:]:
                found = load(found.commands[word].target)
            told = {each.name: each.summary for each in NODES[path].commands}
            assert {name: summary for name, (_, summary) in found.table.items()} == told


def test_every_command_has_an_example_and_names_its_relatives(subtests: pytest.Subtests) -> None:
    for path, command in COMMANDS.items():
        with subtests.test(path):
            example, _, related = _help(command).partition("Example:")[2].partition("See also:")
            assert path in example
            paragraph = " ".join(related.partition("\n\n")[0].split())
            named = re.findall(r"prime(?: [a-z][a-z-]*)*", paragraph)
            assert named
            assert set(named) <= NODES.keys()


@pytest.mark.parametrize("words", LONG)
def test_a_long_help_lists_what_people_use_first_and_names_the_rest(words: str) -> None:
    node = COMMANDS[f"prime {words}"]
    shown = _help(node)
    assert _listed(shown)[:3] == ["-m", "-n", "-r"]
    assert set(_listed(shown)) > {"--max-cost", "--all", "-h"}
    assert 12 <= len(set(_listed(shown)) - {"--all", "-h"}) <= 14
    count = len(node.options)
    assert shown.endswith(f"\nUse `prime {words} --help --all` for all {count} options.\n")
    everything = static_output([*words.split(), "--help", "--all"], HELP_COLUMNS) or ""
    assert len(_listed(everything)) == count


@pytest.mark.parametrize(
    ("line", "same"),
    [
        ("eval run --all -h", "eval run --help --all"),
        ("eval ada/wordle -m x --help --all", "eval run --help --all"),
        ("eval --help --all", "eval run --help --all"),
        ("train -h --all", "train run --help --all"),
        ("eval ada/wordle --help", "eval run --help"),
        ("env install --help --all", "env install --help"),
        ("env --help --all", "env --help"),
        ("cache prune --all --help", "cache prune --help"),
    ],
)
def test_all_options_are_listed_wherever_they_are_asked_for(
    line: str, same: str, prime: Prime
) -> None:
    expected = static_output(same.split(), HELP_COLUMNS)
    # What an environment adds comes last.
    own, _, _ = prime(*line.split()).ok().out.partition("\n`prime eval run ada/wordle --dry-run`")
    assert own == expected


@pytest.mark.parametrize("line", ["eval run ./x --all", "eval ./x --all", "eval ./x --all -- -h"])
def test_all_without_help_is_refused(line: str, prime: Prime) -> None:
    result = prime(*line.split())
    assert result.code == 2
    assert "`--all` needs `--help`" in result.err
    assert "`prime eval run --help --all`" in result.err


def test_every_option_says_what_it_does() -> None:
    options = [(path, each) for path, node in NODES.items() for each in node.options]
    assert [(path, option.names) for path, option in options if not option.help] == []


def test_no_value_is_called_by_a_type_of_python() -> None:
    shown = {path: " ".join(each.shown for each in node.options) for path, node in NODES.items()}
    assert [path for path in shown if re.search(r"<(?:str|int|float|path)\b", shown[path])] == []


def test_the_shared_options_mean_the_same_everywhere() -> None:
    shared = {
        "--output": ("table", "plain", "json", "jsonl"),
        "--context": ("local", "prime", "@contexts"),
        **dict.fromkeys(("--quiet", "--offline", "--yes"), None),
    }
    options = [(path, each) for path, command in COMMANDS.items() for each in command.options]
    other = [
        (path, name, option.offers)
        for path, option in options
        for name in option.names
        if option.offers != shared.get(name, option.offers)
        or (name == "-c" and "--max-concurrent" not in option.names)
    ]
    assert other == []
