"""Base classes of commands and groups; a group imports a command only when it is run."""

from collections.abc import Callable, Iterator
from importlib import import_module
from itertools import zip_longest
from typing import Any, ClassVar

import typer
from typer.core import TyperCommand, TyperGroup, TyperOption

from prime_cli.commands.suggestions import hint_for_command, nearest_word
from prime_cli.core.errors import UsageError


class Command(TyperCommand):
    """A command that may have such options, and whose help is named where a flag was wrong."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        return super().parse_args(ctx, list(_with_empty_values(args, self._optional())))

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except UsageError as error:
            if error.hint is None and "`-" in error.message:
                error.hint = f"see `{ctx.command_path} --help`"
            raise

    def _optional(self) -> dict[str, str]:
        """The long name by each spelling."""
        found = {}
        for parameter in self.params:
            if (parameter.metavar or "").startswith("[") and parameter.param_type_name == "option":
                long = next(name for name in parameter.opts if name.startswith("--"))
                found.update(dict.fromkeys(parameter.opts, long))
        return found


def _with_empty_values(args: list[str], optional: dict[str, str]) -> Iterator[str]:
    """`args` with an empty value where an option is the last word or followed by another one."""
    ended = False
    for word, after in zip_longest(args, args[1:], fillvalue="-"):
        ended = ended or word == "--"
        bare = word in optional and after.startswith("-") and not ended
        yield f"{optional[word]}=" if bare else word


Table = dict[str, tuple[str, str]]

"""Command name -> (`module:attribute`, one-line summary); order is the order of the help."""

PLAIN: dict[str, Any] = {
    "rich_markup_mode": None,
    "pretty_exceptions_enable": False,
    "add_completion": False,
    "context_settings": {"help_option_names": ["-h", "--help"]},
}

_TyperUsageError: Any = typer.BadParameter.__base__

_GROUP_OPTIONS = ("-h", "--help", "--plain")


class LazyCommand(TyperGroup):
    """A command known by its name and summary until someone runs it."""

    def __init__(self, name: str, target: str, summary: str, *, hidden: bool = False) -> None:
        super().__init__(name=name, help=summary, hidden=hidden)
        self.target = target

    def make_context(
        self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any
    ) -> Any:
        command = load(self.target)
        command.name = self.name
        try:
            return command.make_context(info_name, args, parent=parent, **extra)
        except _TyperUsageError as error:
            # An option without its value is told without saying of which command.
            if error.ctx is None:
                error.ctx = command.context_class(command, info_name=info_name, parent=parent)
            raise


class LazyGroup(TyperGroup):
    """A group filled from its table.

    `aliases` and the commands in `unlisted` are accepted but not shown; `default` is the command
    meant when none is named.
    """

    table: ClassVar[Table] = {}
    aliases: ClassVar[dict[str, str]] = {}
    unlisted: ClassVar[Table] = {}
    default: ClassVar[str | None] = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.params.append(_plain_option())
        for name, (target, summary) in self.table.items():
            self.add_command(LazyCommand(name, target, summary), name)
        for alias, name in self.aliases.items():
            target, summary = self.table[name]
            self.add_command(LazyCommand(alias, target, summary, hidden=True), alias)
        for name, (target, summary) in self.unlisted.items():
            self.add_command(LazyCommand(name, target, summary, hidden=True), name)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if self.default and args and args[0] not in (*self.commands, *_GROUP_OPTIONS):
            if hint_for_command(ctx.command_path, args[0]):
                raise self._unknown(ctx.command_path, args[0])
            args = [self.default, *args]
        return super().parse_args(ctx, args)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args[0] not in self.commands:
            raise self._unknown(ctx.command_path, args[0])
        return super().resolve_command(ctx, args)

    def _unknown(self, path: str, name: str) -> UsageError:
        nearest = nearest_word(name, self.commands)
        hint = f"did you mean `{path} {nearest}`?" if nearest else f"see `{path} --help`"
        instead = hint_for_command(path, name)
        return UsageError(f"`{path}` has no command `{name}`", hint=instead or hint)


def _no_options() -> None:
    pass


def _plain_option() -> TyperOption:
    """`--plain`, which the official client takes anywhere on the line, for `--output plain`."""
    return TyperOption(
        param_decls=["--plain"],
        is_flag=True,
        default=False,
        expose_value=False,
        hidden=True,
        callback=_be_plain,
        help="Short for --output plain.",
    )


def _be_plain(ctx: Any, _option: Any, given: bool) -> None:
    if given:
        ctx.find_root().obj.plain = True


def group(
    summary: str,
    table: Table,
    *,
    aliases: dict[str, str] | None = None,
    unlisted: Table | None = None,
    default: str | None = None,
    callback: Callable[..., None] = _no_options,
) -> typer.Typer:
    """A Typer whose members are imported when they are called; `callback` holds its options."""
    members = {
        "table": table,
        "aliases": aliases or {},
        "unlisted": unlisted or {},
        "default": default,
    }
    cls = type("Group", (LazyGroup,), members)
    return typer.Typer(cls=cls, help=summary, callback=callback, no_args_is_help=True, **PLAIN)


def load(target: str) -> Any:
    """The click-style command behind `module:attribute`; a bare function becomes one command."""
    module, _, attribute = target.partition(":")
    found = getattr(import_module(module), attribute)
    if not isinstance(found, typer.Typer):
        function, found = found, typer.Typer(**PLAIN)
        found.command(cls=Command, context_settings=PLAIN["context_settings"])(function)
    command = typer.main.get_command(found)
    if not isinstance(command, LazyGroup):
        command.params.append(_plain_option())
    return command
