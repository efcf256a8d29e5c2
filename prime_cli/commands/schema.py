"""`prime schema`: the commands, their answers and prime's files, described for programs."""

import re
from collections.abc import Collection, Iterator, Sequence
from typing import Annotated, Any

import msgspec
import typer

from prime_cli.commands.base import LazyCommand, load, long_name
from prime_cli.commands.contract import EFFECTS, Contract, SideEffect
from prime_cli.commands.json_schema import FILES, answer_schema, file_schema, line_schema
from prime_cli.commands.options import local_options, open_session
from prime_cli.core.errors import NotFound, UsageError

JsonSchema = dict[str, Any]
"""A JSON Schema of draft 2020-12."""


class ParameterSchema(msgspec.Struct, frozen=True, omit_defaults=True):
    """An option (`names`) or an argument (`name`); `type` as its help calls the value."""

    name: str
    help: str
    type: str
    names: list[str] = []
    required: bool = False
    repeats: bool = False
    default: Any = None
    choices: list[str] = []
    minimum: float | None = None
    maximum: float | None = None
    variable: str | None = None


class CommandLine(msgspec.Struct, frozen=True):
    """A command in the list of all: what is typed, what it does, and its effects."""

    command: str
    summary: str
    effects: list[SideEffect]


class CommandList(msgspec.Struct, frozen=True):
    """Every command; `effects` has a sentence for each effect."""

    commands: list[CommandLine]
    effects: dict[str, str]
    files: list[str]


class CommandSchema(msgspec.Struct, frozen=True):
    """One command, whole; `answer` is the document of `--output json`, `line` one of `jsonl`."""

    command: str
    usage: str
    summary: str
    help: str
    arguments: list[ParameterSchema]
    options: list[ParameterSchema]
    effects: list[SideEffect]
    exit_codes: dict[str, str]
    examples: list[str]
    answer: JsonSchema | None
    line: JsonSchema | None


class GroupSchema(msgspec.Struct, frozen=True):
    """The commands of a group, each of them whole."""

    group: str
    commands: list[CommandSchema]


class FileSchema(msgspec.Struct, frozen=True):
    """What a file of prime's holds; for JSON Lines, each of its lines."""

    file: str
    about: str
    schema: JsonSchema


@local_options(answer=(CommandList, CommandSchema, GroupSchema, FileSchema))
def schema(
    ctx: typer.Context,
    words: Annotated[
        list[str] | None, typer.Argument(metavar="[COMMAND]...", help="A command or a group.")
    ] = None,
    file: Annotated[
        str | None,
        typer.Option("--file", metavar="NAME", help=f"A file: {', '.join(FILES)}."),
    ] = None,
) -> None:
    """Describe commands as JSON, for scripts and agents.

    Without a command, lists all of them. For a command, prints its arguments, options, effects,
    exit codes and examples, and the JSON Schema of what it prints with `--output json`.

    \b
    Example:
      prime schema
      prime schema eval run
      prime schema --file run.json
    \b
    See also: `prime skills add`.
    """
    session = open_session(ctx)
    if file is not None and words:
        raise UsageError("`--file` and a command are mutually exclusive")
    found = _described([word for word in words or [] if word != "prime"], file)
    text = msgspec.json.format(msgspec.json.encode(found)).decode()
    session.output.text(text, record=found)


def _described(words: Sequence[str], file: str | None) -> msgspec.Struct:
    if file is not None:
        if file not in FILES:
            raise NotFound(f"No schema of `{file}`", hint=f"known are {', '.join(FILES)}")
        return FileSchema(file, FILES[file].about, file_schema(file))
    if not words:
        return list_commands()
    path, command = _find(words)
    if hasattr(command, "commands"):
        return GroupSchema(path, [describe(*each) for each in _leaves(command, path)])
    return describe(path, command)


def _find(words: Sequence[str]) -> tuple[str, Any]:
    """The command that `words` name, with its path."""
    command, path = load("prime_cli.commands:app"), "prime"
    for word in words:
        members = getattr(command, "commands", {})
        if (member := members.get(word)) is None:
            raise NotFound(f"There is no command `{path} {word}`", hint=_hint(word, members))
        command, path = load(member.target), f"{path} {member.name}"
    return path, command


def _hint(word: str, members: Collection[str]) -> str:
    from prime_cli.commands.suggestions import nearest_word

    nearest = nearest_word(word, members)
    return f"did you mean `{nearest}`?" if nearest else "`prime schema` lists all commands"


def list_commands() -> CommandList:
    """Every command that help lists."""
    lines = [
        CommandLine(path, _summary(command), _contract(command).sorted_effects)
        for path, command in _leaves(load("prime_cli.commands:app"), "prime")
    ]
    about = {str(effect): text for effect, text in EFFECTS.items()}
    return CommandList(lines, about, list(FILES))


def describe(path: str, command: Any) -> CommandSchema:
    """The whole of what a command says about itself."""
    promised = _contract(command)
    context = command.make_context(path, [], resilient_parsing=True)
    answer, line = answer_schema(promised.answers), line_schema(promised)
    return CommandSchema(
        command=path,
        usage=" ".join([path, *command.collect_usage_pieces(context)]),
        summary=_summary(command),
        help=_text(command),
        arguments=[_parameter(each) for each in command.params if _is(each, "argument")],
        options=[_parameter(each) for each in command.params if _is(each, "option")],
        effects=promised.sorted_effects,
        exit_codes={str(int(each)): each.name.lower() for each in promised.exit_codes},
        examples=_examples(command),
        answer=answer,
        line=line if line != answer else None,
    )


def _leaves(group: Any, path: str) -> Iterator[tuple[str, Any]]:
    for name, member in group.commands.items():
        if member.hidden:
            continue
        command = load(member.target) if isinstance(member, LazyCommand) else member
        if hasattr(command, "commands"):
            yield from _leaves(command, f"{path} {name}")
        else:
            yield f"{path} {name}", command


def _contract(command: Any) -> Contract:
    return getattr(command.callback, "contract", None) or Contract()


def _summary(command: Any) -> str:
    return (command.help or "").partition("\n")[0]


def _text(command: Any) -> str:
    """The help's text without its examples."""
    return re.split(r"\n*\x08?\n?Examples?:\n", command.help or "")[0].replace("\b", "").strip()


def _examples(command: Any) -> list[str]:
    _, _, after = (command.help or "").partition("Example:\n")
    lines = after.partition("\n\n")[0].splitlines()
    return [line.strip() for line in lines if line.strip().startswith("prime ")]


def _is(parameter: Any, kind: str) -> bool:
    return parameter.param_type_name == kind and not getattr(parameter, "hidden", False)


def _parameter(parameter: Any) -> ParameterSchema:
    kind, is_option = parameter.type, parameter.param_type_name == "option"
    is_flag = is_option and (parameter.is_flag or parameter.count)
    default = None if callable(parameter.default) else parameter.default
    return ParameterSchema(
        name=long_name(parameter) if is_option else parameter.metavar or parameter.name.upper(),
        help=(parameter.help or "").partition("\n")[0],
        type="flag" if is_flag else kind.name.partition(" ")[0],
        names=[*parameter.opts, *parameter.secondary_opts] if is_option else [],
        required=parameter.required,
        repeats=parameter.nargs != 1 or getattr(parameter, "multiple", False),
        default=msgspec.to_builtins(default, enc_hook=str) if default else None,
        choices=[str(each) for each in getattr(kind, "choices", None) or ()],
        minimum=getattr(kind, "min", None),
        maximum=getattr(kind, "max", None),
        variable=parameter.envvar if isinstance(parameter.envvar, str) else None,
    )
