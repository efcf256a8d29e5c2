"""The completion script for fish 3 and later."""

from collections.abc import Iterator

from prime_cli.answers.tree import Node, Option

_HEAD = """\
# Completion of `prime` for fish. Made by `python -m prime_cli.commands.tree`; do not edit.
function __prime_at
    set -l at prime
    for word in (commandline -opc)[2..]
        switch "$at $word"
"""
_MIDDLE = """\
        end
    end
    test "$at" = "$argv"
end
"""


def render(root: Node) -> str:
    """The script: one `complete` line for each command and option."""
    steps = [
        f"            case '{typed}'\n                set at '{path}'\n"
        for typed, path in root.steps()
    ]
    lines = [line for node in root.walk() for line in _lines(node)]
    return "".join([_HEAD, *steps, _MIDDLE, *(f"{line}\n" for line in lines)])


def _lines(node: Node) -> Iterator[str]:
    where = f"complete -c prime -n '__prime_at {node.path}'"
    for command in node.commands:
        yield f"{where} -f -a {command.name} -d {_quoted(command.summary)}"
    for value in node.values:
        yield f"{where} -f -a {value}"
    for option in node.options:
        yield f"{where} {' '.join(_words(option))} -d {_quoted(option.help)}"


def _words(option: Option) -> Iterator[str]:
    for name in option.names:
        yield f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}"
    if option.values:
        yield f"-x -a {_quoted(' '.join(option.values))}"
    elif option.takes == "folder":
        yield "-x -a '(__fish_complete_directories)'"
    elif option.takes == "file":
        yield "-r -F"
    elif option.takes == "value":
        yield "-x"


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
