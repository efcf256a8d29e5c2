"""The command tree as data: what completion scripts and manual pages are made from."""

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Option:
    """One option: its spellings, its help, and what may follow it.

    `offers` is None for a flag. `shown` is how the help writes it, `about` its whole help there.
    """

    names: tuple[str, ...]
    help: str
    offers: tuple[str, ...] | None = None
    shown: str = ""
    about: str = ""


@dataclass(frozen=True)
class Argument:
    """One argument: how the help writes it, what it says of it, and what it may be."""

    shown: str
    about: str
    offers: tuple[str, ...] = ()
    repeats: bool = False


@dataclass(frozen=True)
class Node:
    """A command or a group; `path` is what is typed, as in `prime env install`.

    `default` is the path of the command that a group means when none is named. `text` is the
    docstring. An offer is a word to type, or `@` and a kind: `@environments`, `@evaluations` and
    `@models` are what prime has seen (`core.completion_cache`; also aliases of endpoints.toml),
    `@contexts` those of config.toml, `@runs` and `@projects` folders here, `@files`, `@folders`
    and `@wheels` any on this disk.
    """

    path: str
    summary: str
    options: tuple[Option, ...]
    commands: tuple["Node", ...] = ()
    aliases: tuple[str, ...] = ()
    arguments: tuple[Argument, ...] = ()
    default: str | None = None
    text: str = ""
    usage: str = ""

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

    def defaults(self) -> Iterator[tuple[str, str]]:
        """Each group's path with that of the command meant when a word names none."""
        for node in self.walk():
            if node.default:
                yield node.path, node.default

    def follow_options(self) -> Iterator[tuple[tuple[str, ...], str]]:
        """Each option that takes a value: its `path option` by all spellings, and the offers."""
        for node in self.walk():
            for option in node.options:
                if option.offers is not None:
                    keys = tuple(f"{node.path} {name}" for name in option.names)
                    yield keys, " ".join(option.offers)

    def follow_words(self) -> Iterator[tuple[str, str]]:
        """Each argument: `path N` from 0, or `path ...` for one that repeats, and the offers."""
        for node in self.walk():
            for index, argument in enumerate(node.arguments):
                key = "..." if argument.repeats else index
                yield f"{node.path} {key}", " ".join(argument.offers)
