"""Every command in every mode: what it prints is parsed, and holds what the mode promises."""

import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from prime_cli.commands.tree import read_tree
from prime_cli.core.errors import ExitCode
from tests.commands.walk.entries import ENTRIES, WITHOUT_OUTPUT
from tests.commands.walk.entry import Entry
from tests.commands.walk.printed import MODES, check_data, check_failure, check_quiet
from tests.commands.walk.walking import SLOW, Walker, world_for
from tests.commands.walk.world import World
from tests.helpers.seed import read_seed, runs_every_case

COMMANDS = {node.path: node for node in read_tree().walk() if not node.commands}


def _entries() -> Iterator[Any]:
    for entries in ENTRIES.values():
        for entry in entries:
            marks = SLOW if entry.slow else []
            name = entry.words + (" (served)" if entry.hub != Entry("").hub else "")
            for mode in _modes(entry):
                yield pytest.param(entry, mode, id=f"{name} {mode}", marks=marks)


def _modes(entry: Entry) -> Sequence[str]:
    """All of them, but one by the seed for what makes interpreters each time."""
    if not entry.slow or runs_every_case():
        return MODES
    return [random.Random(f"{read_seed()} {entry.words}").choice(MODES)]


def _failures() -> Iterator[Any]:
    for entries in ENTRIES.values():
        for entry in entries:
            for mode in MODES if entry.wrong else ():
                yield pytest.param(entry, mode, id=f"{entry.wrong} {mode}")


@pytest.mark.sample(12, "entry")
@pytest.mark.parametrize(("entry", "mode"), list(_entries()))
def test_what_is_printed_can_be_parsed(
    entry: Entry, mode: str, world: World, walk: Walker, tmp_path: Path
) -> None:
    results = []
    for flags in ((), ("-q",)):
        with world_for(entry, world, tmp_path) as own:
            results.append(walk(own, entry, entry.words, "--output", mode, *flags))
    loud, quiet = results
    assert loud.code == entry.code, loud.err
    for result in results:
        if entry.code and not result.out:  # all that it could do here is to fail
            check_failure(mode, result)
        else:
            check_data(mode, result, is_text=entry.is_text)
    check_quiet(mode, loud, quiet)


@pytest.mark.sample(12, "entry")
@pytest.mark.parametrize(("entry", "mode"), list(_failures()))
def test_a_failure_has_its_code_its_form_and_a_next_step(
    entry: Entry, mode: str, quick_world: World, walk: Walker
) -> None:
    result = walk(quick_world, entry, entry.wrong, "--output", mode)
    assert result.code == entry.wrong_code, result.err
    assert result.out == ""
    check_failure(mode, result)


@pytest.mark.sample(20, "path")
@pytest.mark.parametrize("path", sorted(COMMANDS))
def test_an_unknown_word_is_an_error_like_others(
    path: str, quick_world: World, walk: Walker
) -> None:
    for mode in ("json", "plain"):
        flags = () if path in WITHOUT_OUTPUT else ("--output", mode)
        result = walk(
            quick_world, Entry(""), path.removeprefix("prime "), "--no-such-option", *flags
        )
        assert (result.code, result.out) == (ExitCode.USAGE, "")
        check_failure(mode if flags else "table", result)


def test_every_command_is_walked_in_every_mode() -> None:
    missing = [path for path in COMMANDS if path not in ENTRIES and path not in WITHOUT_OUTPUT]
    assert missing == [], (
        "add an Entry for these to ENTRIES in tests/commands/walk/entries.py: the words to run "
        "them with, so that they have something to show"
    )
    gone = [path for path in (*ENTRIES, *WITHOUT_OUTPUT) if path not in COMMANDS]
    assert gone == [], "these commands are no more: take their entries out of entries.py"


def test_every_command_takes_an_output_and_can_be_quiet() -> None:
    for path, node in COMMANDS.items():
        names = {name for option in node.options for name in option.names}
        lacks = {"--output", "--quiet"} - names
        if path in WITHOUT_OUTPUT:
            assert "--output" in lacks, f"`{path}` has an --output: it needs no reason any more"
        else:
            assert lacks == set(), (
                f"`{path}` has no {lacks}: add OutputOpt and QuietOpt of commands.options, or a "
                "reason to WITHOUT_OUTPUT in tests/commands/walk/entries.py"
            )
