"""From words to a command: parse, call, and put Typer's complaints into our own words."""

import re
from typing import Any

import typer

from prime_cli.commands import app
from prime_cli.commands.base import long_name
from prime_cli.commands.options import OutputMode
from prime_cli.core.errors import ExitCode, UsageError
from prime_cli.session import Session

_TyperUsageError: Any = typer.BadParameter.__base__
_EXTRA = re.compile(r"unexpected extra argument.*\((.*)\)")


def invoke(argv: list[str], session: Session) -> int:
    """Run the command that `argv` names; raises UsageError, and what the command raises."""
    command = typer.main.get_command(app)
    try:
        with command.make_context("prime", argv, obj=session) as context:
            command.invoke(context)
    except typer.Exit as stop:
        return stop.exit_code
    except typer.Abort:
        return ExitCode.INTERRUPTED
    except _TyperUsageError as error:
        return _explain(error, argv)
    return ExitCode.OK


def output_mode(argv: list[str]) -> str | None:
    """The `--output` among `argv`, read before parsing so that its failure has this form too."""
    for index, word in enumerate(argv):
        name, equals, value = word.partition("=")
        if name in ("--output", "-o"):
            value = value if equals else "".join(argv[index + 1 : index + 2])
            return value if value in tuple(OutputMode) else None
    return None


def _explain(error: Any, argv: list[str]) -> int:
    """Print the help of a bare group; raise anything else as a UsageError of ours."""
    path = error.ctx.command_path if error.ctx else "prime"
    if type(error).__name__ == "NoArgsIsHelpError":
        typer.echo(error.format_message(), err=True)
        return ExitCode.USAGE
    hint = f"see `{path} --help`"
    unknown = getattr(error, "option_name", None)
    if unknown and hasattr(error, "possibilities"):
        from prime_cli.commands.suggestions import unknown_option

        raise unknown_option(error.ctx, path, unknown, argv) from error
    if type(error).__name__ == "MissingParameter":
        raise UsageError(f"`{path}` needs {_wanted(error)}", hint=hint) from error
    if _EXTRA.search(error.format_message()):
        from prime_cli.commands.suggestions import official_words

        # `prime sandbox network create NAME`, where `network` takes a sandbox.
        if official := official_words(error.ctx, path, argv):
            raise official from error
    meant = _value_meant(error) or _command_meant(error.ctx)
    raise UsageError(_reworded(error), hint=meant or hint) from error


def _value_meant(error: Any) -> str | None:
    """The nearest of the words that an option takes, where it was given none of them."""
    choices = getattr(getattr(getattr(error, "param", None), "type", None), "choices", ())
    given = re.match(r"'([^']*)' is not one of", getattr(error, "message", ""))
    if given is None:
        return None
    from prime_cli.commands.suggestions import nearest_word

    nearest = nearest_word(given[1], [str(choice) for choice in choices])
    return f"did you mean `{nearest}`?" if nearest else None


def _command_meant(context: typer.Context | None) -> str | None:
    """`prime eval rnu x` is read as `prime eval run rnu x`, where `rnu` is an environment."""
    group: Any = context.parent.command if context and context.parent else None
    if context is None or getattr(group, "default", None) is None:
        return None
    from prime_cli.commands.suggestions import nearest_word

    words = [value for value in context.params.values() if isinstance(value, str)]
    nearest = nearest_word(words[0], group.commands) if words else None
    path = context.parent.command_path if context.parent else ""
    return f"did you mean `{path} {nearest}`?" if nearest else None


def _wanted(error: Any) -> str:
    parameter = error.param
    if parameter is None:
        return "one more argument"
    if _is_option(parameter):
        return f"`{long_name(parameter)}`"
    return str(parameter.metavar or parameter.name.upper()).removesuffix("...")


def _is_option(parameter: Any) -> bool:
    return bool(parameter.param_type_name == "option")


def _reworded(error: Any) -> str:
    """Typer's sentence without its prefix and full stop, and with values in backticks."""
    text: str = error.format_message()
    if extra := _EXTRA.search(text):
        return f"Unexpected argument `{extra[1]}`"
    if lacking := re.fullmatch(r"Option '([^']*)' requires .*", text):
        return f"`{lacking[1]}` needs a value"
    if getattr(error, "param", None) is not None:
        name = long_name(error.param) if _is_option(error.param) else error.param.name
        text = f"`{name}`: {_number_words(error.message)}"
    return re.sub(r"'([^']*)'", r"`\1`", text).rstrip(".")


def _number_words(text: str) -> str:
    """`'x' is not a valid int range` says no person."""
    text = re.sub(r"is not a valid int(eger)?( range)?\b", "is not a whole number", text)
    text = re.sub(r"is not a valid float( range)?\b", "is not a number", text)
    text = re.sub(r"is not in the range x>=([\d.]+)", r"is less than \1", text)
    return re.sub(r"is not in the range ([\d.]+)<=x<=([\d.]+)", r"is not between \1 and \2", text)
