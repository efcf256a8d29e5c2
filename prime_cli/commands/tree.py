"""Read the command tree, and write completion scripts and `docs/commands.md` from it.

Run `python -m prime_cli.commands.tree` in the root of a checkout after a change of any command.
"""

import io
import os
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

from prime_cli.answers import FILES, HELP_COLUMNS, REFERENCE, bash, fish, powershell, zsh
from prime_cli.answers.tree import Node, Option
from prime_cli.commands.invoke import invoke
from prime_cli.commands.lazy import LazyCommand, load
from prime_cli.session import Session

_RENDER = {
    "bash": bash.render,
    "zsh": zsh.render,
    "fish": fish.render,
    "powershell": powershell.render,
}
_HELP = Option(("-h", "--help"), "Show this message and exit.")


def read_tree() -> Node:
    """The whole tree; imports every command."""
    return _node(load("prime_cli.commands:app"), "prime")


def scripts() -> dict[str, str]:
    """Completion scripts by their path in the checkout."""
    root = read_tree()
    return {f"completions/{FILES[shell]}": render(root) for shell, render in _RENDER.items()}


def reference() -> dict[str, str]:
    """The help of every command, by the path of the page that holds it."""
    sections = [_section(node.path) for node in read_tree().walk()]
    return {f"docs/{REFERENCE}": "# Commands\n" + "".join(sections)}


def _section(path: str) -> str:
    shown = io.StringIO()
    with redirect_stdout(shown):
        invoke([*path.split()[1:], "--help"], Session())
    return f"\n## {path}\n\n```text\n{shown.getvalue().rstrip()}\n```\n"


def _node(command: Any, path: str, aliases: tuple[str, ...] = ()) -> Node:
    if isinstance(command, LazyCommand):
        command = load(command.target)
    commands = _commands(command, path)
    default = getattr(command, "default", None)
    meant = [option for node in commands if node.name == default for option in node.options]
    return Node(
        path=path,
        summary=(command.help or "").partition("\n")[0],
        options=tuple(dict.fromkeys([*_options(command), *meant, _HELP])),
        commands=commands,
        aliases=aliases,
        values=_argument_values(command),
    )


def _commands(group: Any, path: str) -> tuple[Node, ...]:
    members: dict[str, LazyCommand] = getattr(group, "commands", {})
    return tuple(
        _node(member, f"{path} {name}", _aliases(members, member.target))
        for name, member in members.items()
        if not member.hidden
    )


def _aliases(members: dict[str, LazyCommand], target: str) -> tuple[str, ...]:
    return tuple(
        name for name, member in members.items() if member.hidden and member.target == target
    )


def _options(command: Any) -> list[Option]:
    return [
        Option(
            names=(*parameter.opts, *parameter.secondary_opts),
            help=(parameter.help or "").partition("\n")[0],
            takes=_takes(parameter),
            values=tuple(getattr(parameter.type, "choices", None) or ()),
        )
        for parameter in command.params
        if parameter.param_type_name == "option" and not parameter.hidden
    ]


def _takes(option: Any) -> str:
    if option.is_flag or option.count:
        return "flag"
    if option.type.name in ("path", "file", "filename", "directory"):
        return "file" if getattr(option.type, "file_okay", True) else "folder"
    return "value"


def _argument_values(command: Any) -> tuple[str, ...]:
    """The words of an argument that takes one of a few, as `prime completion` does."""
    return tuple(
        value
        for parameter in command.params
        if parameter.param_type_name == "argument"
        for value in getattr(parameter.type, "choices", None) or ()
    )


def main() -> None:
    """Write all generated texts into the current folder, which is a checkout's root."""
    os.environ["COLUMNS"] = str(HELP_COLUMNS)
    for name, text in {**scripts(), **reference()}.items():
        path = Path(name)
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
