"""The command tree as data: what completion scripts are made from."""

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Option:
    """One option: its spellings, its help, and what may follow it.

    `values` are the words to choose from; `takes` is `flag`, `value`, `file` or `folder`.
    """

    names: tuple[str, ...]
    help: str
    takes: str = "flag"
    values: tuple[str, ...] = ()


@dataclass(frozen=True)
class Node:
    """A command or a group; `path` is what is typed, as in `prime env install`."""

    path: str
    summary: str
    options: tuple[Option, ...]
    commands: tuple["Node", ...] = ()
    aliases: tuple[str, ...] = ()
    values: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The last word of the path."""
        return self.path.rpartition(" ")[2]

    def walk(self) -> Iterator["Node"]:
        """Yield the node and all below it, in the order of the help."""
        yield self
        for command in self.commands:
            yield from command.walk()

    def steps(self) -> Iterator[tuple[str, str]]:
        """Each `path word` that leads to a command (by alias too), with the command's path."""
        for node in self.walk():
            for command in node.commands:
                for word in (command.name, *command.aliases):
                    yield f"{node.path} {word}", command.path
