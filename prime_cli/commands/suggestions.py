"""What to do instead of a word that `prime` does not know. Imported where there is one."""

import re
from collections.abc import Collection, Iterator
from importlib import import_module
from itertools import combinations, product, takewhile
from typing import Any

import typer

from prime_cli.commands.official_client import (
    NOT_HERE,
    OFFICIAL,
    OTHERS,
    VERIFIERS,
    OfficialRow,
    find_row,
)
from prime_cli.core.errors import PrimeError, UsageError
from prime_cli.terminal.static_help import help_text

_SHORTEST = 3
"""Letters of a beginning, or of a misspelt word, that say what was meant."""

_LONG = 7
"""Letters of a word in which two slips are likely; in shorter ones it is one."""

_MOST_PLACES = 2


def nearest_word(word: str, known: Collection[str]) -> str | None:
    """The first of `known` that begins with `word`, else the one with the closest spelling.

    `--gpu` is rather `--gpu-type` than `--vcpus`; `rnu` is `run`, but `test` is not `trust`.
    """
    letters = len(word.strip("-"))
    if letters < _SHORTEST:
        return None
    begun = next((each for each in known if each.startswith(word)), None)
    if begun is not None:
        return begun
    slips, nearest = min(((_slips(word, each), each) for each in known), default=(letters, ""))
    return nearest if slips <= (2 if letters >= _LONG else 1) else None


def unknown_command(context: Any, words: list[str]) -> UsageError:
    """`words` are those after a group; the first is no command of it."""
    path, hint = context.command_path, f"see `{context.command_path} --help`"
    found = _row_of_words(context, words)
    if found is not None:
        row, typed = found
        return _answer(f"`{path}` has no command `{typed}`", row, otherwise=hint)
    meant = nearest_word(words[0], context.command.commands)
    places = [f"`{path} {meant}`"] if meant else list(_places(context, words[0]))
    if places:
        hint = f"did you mean {' or '.join(places[:_MOST_PLACES])}?"
    return UsageError(f"`{path}` has no command `{words[0]}`", hint=hint)


def official_command(context: Any, words: list[str]) -> UsageError | None:
    """The same for a group that takes other words too; None for what the official client lacks."""
    if _row_of_words(context, words, (OFFICIAL, VERIFIERS)) is None:
        return None
    return unknown_command(context, words)


def official_words(context: Any, path: str, argv: list[str]) -> UsageError | None:
    """The same for what follows the command `path` in `argv`.

    `prime sandbox network list --id x`: `network` has no such option, but `list` is the reason.
    """
    words = iter(argv)
    for name in path.split()[1:]:
        next((word for word in words if word == name), None)
    return official_command(context, list(words))


def meant_in_group(group: str, word: str) -> str | None:
    """The command that `prime GROUP WORD` may have meant, where `word` names nothing else."""
    row = find_row([group, word])
    if row is not None and row.ours:
        return row.ours
    nearest = nearest_word(word, _commands_of(f"prime_cli.commands.{group}"))
    return f"`prime {group} {nearest}`" if nearest else None


def hint_at_command(error: PrimeError, group: str, word: str) -> None:
    """`prime eval lst` looks for an environment of that name; a command may have been meant."""
    if meant := meant_in_group(group, word):
        error.hint = f"did you mean {meant}?"


def unknown_option(context: Any, path: str, name: str, argv: list[str], hint: str) -> UsageError:
    """`name` is no option of the command of `context`, which `path` names; `hint` is its help."""
    message = f"`{path}` has no option `{name}`"
    if error := official_words(context, path, argv):
        return error
    for command, option in product((*_spellings(context), ""), _dotted(name)):
        row = find_row([f"{command} {option}".strip()])
        if row is not None and (command or _takes(context, row)):
            return _answer(message, row, otherwise="omit it")
        if row is not None and _is_group(context):
            ours = row.ours.strip("`")
            example = f"`{_command_with(ours.split()[0], argv) or 'prime env list'} {ours}`"
            return UsageError(message, hint=f"use {row.ours} after a command, as in {example}")
    nearest = nearest_word(name, _options(context))
    if nearest:
        hint = f"did you mean `{nearest}`? Otherwise {hint}"
    elif _takes_command(context):
        hint = f"write `--` before COMMAND if it belongs to that; otherwise {hint}"
    elif _is_group(context):
        after = _command_with(name, argv)
        hint = f"it goes after the command: `{after} {name}`" if after else hint
    return UsageError(message, hint=hint)


def _is_group(context: Any) -> bool:
    return hasattr(getattr(context, "command", None), "table")


def _commands_of(module: str) -> Collection[str]:
    """The names in a group of commands."""
    group: Any = typer.main.get_command(import_module(module).app)
    names: Collection[str] = group.commands
    return names


def _takes(context: Any, row: OfficialRow) -> bool:
    """Whether the option that a row of every command names is one of this command."""
    named = re.match(r"`(--[\w-]+)", row.ours)
    return named is None or named[1] in _options(context)


def _takes_command(context: Any) -> bool:
    """Whether the words after its arguments are a command with options of its own."""
    parameters = getattr(getattr(context, "command", None), "params", ())
    return any(str(each.metavar).startswith("-- COMMAND") for each in parameters)


def _answer(message: str, row: OfficialRow, otherwise: str) -> UsageError:
    hint = f"use {row.ours}" if row.ours else otherwise
    if row.status == NOT_HERE:
        return UsageError(f"{message}, because {row.because}", hint=hint)
    return UsageError(message, hint=f"{hint}; {row.because}" if row.because else hint)


def _row_of_words(
    context: Any, words: list[str], sections: tuple[str, ...] = (OFFICIAL, VERIFIERS, OTHERS)
) -> tuple[OfficialRow, str] | None:
    """The row of a command, and which of `words` it is about."""
    given = list(takewhile(lambda word: not word.startswith("-"), words))
    for group in map(str.split, _spellings(context)):
        row = find_row([*group, *given], sections)
        about = row.command.split()[len(group) :] if row else []
        if row and about:
            return row, " ".join(about)
    return None


def _spellings(context: Any) -> list[str]:
    """The ways to write the command of `context` without `prime`: `pods` is `pod`, too."""
    ways: list[list[str]] = []
    while context is not None and context.parent is not None:
        aliases = getattr(context.parent.command, "aliases", {})
        own = aliases.get(context.info_name, context.info_name)
        ways.insert(0, [own, *(alias for alias, name in aliases.items() if name == own)])
        context = context.parent
    return [" ".join(words) for words in product(*ways)]


def _places(context: Any, name: str) -> Iterator[str]:
    """Commands of other groups with this name."""
    for group, (target, _) in context.find_root().command.table.items():
        module, _, attribute = target.partition(":")
        if attribute == "app" and name in _commands_of(module):
            yield f"`prime {group} {name}`"


def _command_with(option: str, argv: list[str]) -> str | None:
    """The command among the words of `argv` that takes `option`."""
    words = [word for word in argv if not word.startswith("-")]
    for length in (3, 2, 1):
        for some in combinations(words, length):
            path = " ".join(("prime", *some))
            if f" {option} " in (help_text(path) or "").replace(",", " ").replace("\n", " "):
                return path
    return None


def _dotted(option: str) -> Iterator[str]:
    """`--env.taskset.size`, then `--env.taskset`, then `--env`."""
    while option:
        yield option
        option = option.rpartition(".")[0]


def _options(context: Any) -> list[str]:
    parameters = context.command.get_params(context) if context else []
    return [name for parameter in parameters for name in parameter.opts if name.startswith("-")]


def _slips(typed: str, meant: str) -> int:
    """The letters to insert, drop, replace or swap with the next one to get from one to other."""
    before: list[int] = []
    row = list(range(len(meant) + 1))
    for i, letter in enumerate(typed, start=1):
        before, last, row = row, before, [i]
        for j, other in enumerate(meant, start=1):
            slips = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (letter != other))
            if i > 1 and j > 1 and letter == meant[j - 2] and other == typed[i - 2]:
                slips = min(slips, last[j - 2] + 1)
            row.append(slips)
    return row[-1]
