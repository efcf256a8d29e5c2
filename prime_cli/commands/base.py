"""Base classes of commands and groups; a group imports a command only when it is run."""

import os
import re
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from itertools import zip_longest
from typing import Any, ClassVar

import typer
from typer.core import TyperCommand, TyperGroup, TyperOption

from prime_cli.commands.options import expand_options
from prime_cli.core.errors import UsageError
from prime_cli.core.options import refuse_empty

AFTER_DASHES = "prime.after_dashes"
"""Where a context's `meta` has the words after `--`, which arguments hold as any other words."""


class Command(TyperCommand):
    """A command that may have such options, and whose help is named where a flag was wrong."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        args = getattr(self.callback, "rewrite_args", list)(args)
        ctx.meta[AFTER_DASHES] = args[args.index("--") + 1 :] if "--" in args else []
        if _asks_for_all(args):
            ctx.meta[_ALL], args = True, ["--help"]
        args = list(_with_empty_values(args, self._optional()))
        _refuse_empty(self, ctx, args)
        ctx.meta[_GIVEN] = list(args)
        return super().parse_args(ctx, args)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Many options are listed below their panels, very many only if `--all` is given too."""
        records = [(each, each.get_help_record(ctx)) for each in self.get_params(ctx)]
        options = [
            (_panel(each), *record)
            for each, record in records
            if record is not None and each.param_type_name == "option"
        ]
        if len(options) <= _MOST_UNDER_ONE_HEADING:
            super().format_options(ctx, formatter)
            return
        if arguments := [
            record for each, record in records if record and each.param_type_name == "argument"
        ]:
            with formatter.section("Arguments"):
                formatter.write_dl(arguments)
        order = getattr(self.callback, "panel_order", ())
        first = [each for each in options if each[0] is None]
        if _shows_all(self, ctx):
            _write_panels(formatter, "Options", options, order=order)
            return
        _write_panels(formatter, "Options", first)
        path = ctx.command_path
        formatter.write(f"\nUse `{path} --help --all` for all {len(options)} options.\n")

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """What `add_help` says of the words that were given, and the fields of the answer."""
        from prime_cli.commands.help_epilog import write_added, write_fields

        super().format_epilog(ctx, formatter)
        if _GIVEN in ctx.meta:
            write_added(self, ctx, formatter, ctx.meta[_GIVEN])
        if _shows_all(self, ctx):
            write_fields(self, formatter)

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except UsageError as error:
            if error.hint is None and "`-" in error.message:
                error.hint = f"see `{help_command(ctx, *_NAMED.findall(error.message))}`"
            raise

    def _optional(self) -> dict[str, str]:
        """The long name by each spelling."""
        found = {}
        for parameter in self.params:
            if (parameter.metavar or "").startswith("[") and parameter.param_type_name == "option":
                found.update(dict.fromkeys(parameter.opts, long_name(parameter)))
        return found


def _with_empty_values(args: list[str], optional: dict[str, str]) -> Iterator[str]:
    """`args` with an empty value where an option is the last word or followed by another one."""
    ended = False
    for word, after in zip_longest(args, args[1:], fillvalue="-"):
        ended = ended or word == "--"
        bare = word in optional and after.startswith("-") and not ended
        yield f"{optional[word]}=" if bare else word


def _refuse_empty(command: Any, ctx: Any, args: list[str]) -> None:
    """Raise UsageError for an empty value, which no command takes for one that was not given.

    `-m "$MODEL"` with an unset variable would otherwise evaluate another model.
    """
    for each in command.params:
        refuse_empty([each.envvar] if isinstance(each.envvar, str) else (), os.environ)
    if not any(word == "" or word.endswith("=") for word in args):
        return
    given, _, _ = command.make_parser(ctx).parse_args(args=list(args))
    for each in command.params:
        value = given.get(each.name)
        is_empty = value == "" or (isinstance(value, list | tuple) and "" in value)
        if is_empty and not _takes_empty(each):
            raise UsageError(f"`{_shown_name(each)}` is empty", hint="give it a value, or omit it")


def _takes_empty(parameter: Any) -> bool:
    """Whether an option may stand without its value, or an argument is for another program."""
    metavar = parameter.metavar or ""
    is_optional = metavar.startswith("[") and parameter.param_type_name == "option"
    return is_optional or "-- " in metavar


def _shown_name(parameter: Any) -> str:
    if parameter.param_type_name == "option":
        return long_name(parameter)
    return str(parameter.metavar or parameter.name.upper()).strip("[].…")


Table = dict[str, tuple[str, str]]

"""Command name -> (`module:attribute`, one-line summary); order is the order of the help."""

PLAIN: dict[str, Any] = {
    "rich_markup_mode": None,
    "pretty_exceptions_enable": False,
    "add_completion": False,
    "context_settings": {"help_option_names": ["-h", "--help"]},
}

_TyperUsageError: Any = typer.BadParameter.__base__

_NUMBERS = {"int": "N", "int range": "N", "float": "NUMBER", "float range": "NUMBER"}

_GROUP_OPTIONS = ("-h", "--help", "--plain")
_ALL = "prime.all_options"
"""Where a context's `meta` says that the help lists all options."""
_GIVEN = "prime.given"
"""Where it has the words of the command, which its help may be about."""
_NAMED = re.compile(r"`(--?[a-zA-Z][\w-]*)")
"""An option in a sentence."""
_WIDEST_NAME = 30
"""As in Typer: the help of what is longer begins on the next line."""
_MOST_UNDER_ONE_HEADING = 20
"""Options of a command that are listed together; more of them are grouped."""
_MOST_IN_A_HELP = 50
"""Options of a command that its help lists; of more, those that people use first."""


class LazyCommand(TyperGroup):
    """A command known by its name and summary until someone runs it."""

    def __init__(
        self,
        name: str,
        target: str,
        summary: str,
        *,
        hidden: bool = False,
        panel: str | None = None,
    ) -> None:
        super().__init__(name=name, help=summary, hidden=hidden, rich_help_panel=panel)
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
    meant when none is named. `panels` are headings of the help, with the names below each.
    """

    table: ClassVar[Table] = {}
    aliases: ClassVar[dict[str, str]] = {}
    unlisted: ClassVar[Table] = {}
    default: ClassVar[str | None] = None
    panels: ClassVar[dict[str, str]] = {}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.params.append(_plain_option())
        headings = {name: title for title, names in self.panels.items() for name in names.split()}
        for name, (target, summary) in self.table.items():
            self.add_command(LazyCommand(name, target, summary, panel=headings.get(name)), name)
        for alias, name in self.aliases.items():
            target, summary = self.table[name]
            self.add_command(LazyCommand(alias, target, summary, hidden=True), alias)
        for name, (target, summary) in self.unlisted.items():
            self.add_command(LazyCommand(name, target, summary, hidden=True), name)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args and args[0] in _GROUP_OPTIONS and _asks_for_all(args):
            args = [self.default, "--help", "--all"] if self.default else ["--help"]
        if self.default and args and args[0] not in (*self.commands, *_GROUP_OPTIONS):
            # Reading the official commands takes longer than all else here.
            if _may_be_command(args[0]):
                from prime_cli.commands.suggestions import official_command

                if error := official_command(ctx, args):
                    raise error
            args = [self.default, *args]
        _refuse_empty(self, ctx, args)
        return super().parse_args(ctx, args)

    def format_help_text(self, ctx: Any, formatter: Any) -> None:
        """Below the summary, that the command meant when none is named needs no name."""
        super().format_help_text(ctx, formatter)
        if self.default:
            path = ctx.command_path
            formatter.write(f"\n  `{path} ENV …` is short for `{path} {self.default} ENV …`.\n")

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """The commands below their headings; a summary is wrapped, never cut."""
        rows = [
            (command.rich_help_panel, name, command.help)
            for name, command in self.commands.items()
            if not command.hidden and isinstance(command, LazyCommand)
        ]
        _write_panels(formatter, "Commands", rows, order=list(self.panels))

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Where programs read the same."""
        super().format_epilog(ctx, formatter)
        words = ctx.command_path.partition(" ")[2]
        formatter.write(f"\nAs JSON, with the answers: `{f'prime schema {words}'.rstrip()}`.\n")

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args[0] not in self.commands:
            from prime_cli.commands.suggestions import unknown_command

            raise unknown_command(ctx, args)
        return super().resolve_command(ctx, args)


def _may_be_command(word: str) -> bool:
    """Not an option, a path or a name with an owner."""
    return not word.startswith("-") and "/" not in word and "." not in word


def _write_panels(
    formatter: Any,
    first: str,
    rows: Sequence[tuple[str | None, str, str | None]],
    order: Sequence[str] = (),
) -> None:
    """Rows of (heading, name, help), those without a heading below `first`, all in one column."""
    wide = min(max(len(name) for _, name, _ in rows), _WIDEST_NAME)
    panels: dict[str, list[tuple[str, str]]] = {first: [], **{title: [] for title in order}}
    for title, name, text in rows:
        panels.setdefault(title or first, []).append((f"{name:<{wide}}", text or ""))
    for title, listed in panels.items():
        if listed:
            with formatter.section(title):
                formatter.write_dl(listed)


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


def _asks_for_all(args: list[str]) -> bool:
    """Whether these words say `--help --all`, in any order."""
    words = args[: args.index("--")] if "--" in args else args
    return "--all" in words and not {"-h", "--help"}.isdisjoint(words)


def _shows_all(command: Any, ctx: Any) -> bool:
    return not _is_long(command) or bool(ctx.meta.get(_ALL))


def _is_long(command: Any) -> bool:
    """Whether a command has more options than its help should list."""
    options = [each for each in getattr(command, "params", ()) if each.param_type_name == "option"]
    return sum(not each.hidden for each in options) > _MOST_IN_A_HELP


def _all_option() -> TyperOption:
    return TyperOption(
        param_decls=["--all"],
        is_flag=True,
        default=False,
        expose_value=False,
        callback=_refuse_all,
        help="With --help, list all options.",
    )


def _refuse_all(ctx: Any, _option: Any, given: bool) -> None:
    if given:
        hint = f"all options are listed by `{ctx.command_path} --help --all`"
        raise UsageError("`--all` needs `--help`", hint=hint)


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
    panels: dict[str, str] | None = None,
    callback: Callable[..., None] = _no_options,
) -> typer.Typer:
    """A Typer whose members are imported when they are called; `callback` holds its options.

    `panels` groups the help: a heading, and the names below it; the others come first.
    """
    members = {
        "table": table,
        "aliases": aliases or {},
        "unlisted": unlisted or {},
        "default": default,
        "panels": panels or {},
    }
    cls = type("Group", (LazyGroup,), members)
    return typer.Typer(
        cls=cls, help=summary, callback=expand_options(callback), no_args_is_help=True, **PLAIN
    )


def load(target: str) -> Any:
    """The click-style command behind `module:attribute`; a bare function becomes one command."""
    module, _, attribute = target.partition(":")
    found = getattr(import_module(module), attribute)
    if not isinstance(found, typer.Typer):
        function, found = expand_options(found), typer.Typer(**PLAIN)
        found.command(cls=Command, context_settings=PLAIN["context_settings"])(function)
    command = typer.main.get_command(found)
    for parameter in command.params:
        _name_value(parameter)
    if not isinstance(command, LazyGroup):
        command.params.append(_plain_option())
        if _is_long(command):
            command.params.append(_all_option())
    return command


def help_command(ctx: Any, *options: str) -> str:
    """What to type for the help that lists these options; without options, for all of them."""
    path, params = f"{ctx.command_path} --help", getattr(ctx.command, "params", ())
    shown = {name for each in params if _panel(each) is None for name in each.opts}
    is_whole = not _is_long(ctx.command) or (options and shown.issuperset(options))
    return path if is_whole else f"{path} --all"


def _panel(parameter: Any) -> str | None:
    return getattr(parameter, "rich_help_panel", None)


def long_name(option: Any) -> str:
    """The first long spelling: those after it are what other programs call the option."""
    names: list[str] = option.opts
    return next((name for name in names if name.startswith("--")), names[0])


def _name_value(parameter: Any) -> None:
    """Help calls an option's value by what it is, `--owner OWNER`, where Typer says `<str>`."""
    if parameter.param_type_name == "option" and parameter.metavar is None:
        kind = parameter.type.name
        if kind in ("str", "path"):
            parameter.metavar = long_name(parameter).rpartition("-")[2].upper()
        else:
            parameter.metavar = _NUMBERS.get(kind)
