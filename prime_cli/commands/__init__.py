"""The root table: what `prime` can do, by name."""

import re
from typing import Annotated, Any

import typer

from prime_cli import __version__
from prime_cli.commands.base import group, help_command, long_name
from prime_cli.commands.options import CONTEXT, OutputMode, common_options
from prime_cli.core.errors import ExitCode, UsageError
from prime_cli.session import Session


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"prime {__version__}")
        raise typer.Exit


@common_options(CONTEXT, "_version")
def _root(
    ctx: typer.Context,
    _version: Annotated[
        bool,
        typer.Option(
            "--version", "-v", callback=_show_version, is_eager=True, help="Show the version."
        ),
    ] = False,
) -> None:
    ctx.obj.context_name = ctx.params["context"]


app = group(
    "Write, share, evaluate and train on RL environments.",
    {
        "env": ("prime_cli.commands.env:app", "Write, publish and install environments."),
        "eval": ("prime_cli.commands.eval:app", "Evaluate models on environments."),
        "judge": ("prime_cli.commands.judge:app", "Check judges against people."),
        "train": ("prime_cli.commands.train:app", "Train a model on an environment."),
        "rollouts": ("prime_cli.commands.rollouts:app", "Produce rollouts for trainers."),
        "open": (
            "prime_cli.commands.open:open_pages",
            "Show runs and environments in a browser.",
        ),
        "serve": (
            "prime_cli.commands.serve:serve",
            "Serve a model on this machine with the OpenAI API.",
        ),
        "availability": (
            "prime_cli.commands.availability:app",
            "Find machines to rent, with prices.",
        ),
        "pods": ("prime_cli.commands.pods:app", "Create, connect to and terminate pods."),
        "sandbox": (
            "prime_cli.commands.sandbox:app",
            "Create sandboxes, and run code in them.",
        ),
        "disks": ("prime_cli.commands.disks:app", "Manage persistent disks."),
        "ssh-keys": (
            "prime_cli.commands.ssh_keys:app",
            "Manage the SSH keys that can access your pods.",
        ),
        "gc": (
            "prime_cli.commands.gc:gc",
            "Terminate orphaned and expired pods, disks and sandboxes.",
        ),
        "hub": ("prime_cli.commands.hub:app", "Run a hub for a team."),
        "login": (
            "prime_cli.commands.login:login",
            "Log in to a hub and make it the current one.",
        ),
        "join": ("prime_cli.commands.join:join", "Accept an invitation to a hub or a team."),
        "logout": ("prime_cli.commands.login:logout", "Log out of a hub and remove its key."),
        "whoami": ("prime_cli.commands.whoami:whoami", "Show the current user and hub."),
        "switch": (
            "prime_cli.commands.teams:switch",
            "Switch to a team or to your personal account.",
        ),
        "teams": ("prime_cli.commands.teams:app", "List your teams, and manage their members."),
        "keys": ("prime_cli.commands.keys:app", "Manage your API keys."),
        "identities": (
            "prime_cli.commands.identities:app",
            "Manage the identities that log you in.",
        ),
        "secret": (
            "prime_cli.commands.secrets:app",
            "Manage your secrets and those of your teams.",
        ),
        "context": (
            "prime_cli.commands.context:app",
            "Manage the hubs that you use.",
        ),
        "config": ("prime_cli.commands.config:app", "Show and change settings."),
        "cache": (
            "prime_cli.commands.cache:app",
            "List, verify and prune prime's cache.",
        ),
        "doctor": (
            "prime_cli.commands.doctor:doctor",
            "Diagnose problems with this machine and its settings.",
        ),
        "completion": (
            "prime_cli.commands.completion:app",
            "Set up shell completion.",
        ),
        "schema": (
            "prime_cli.commands.schema:schema",
            "Describe commands as JSON, for scripts and agents.",
        ),
        "skills": ("prime_cli.commands.skills:app", "Teach coding agents to use prime."),
        "update": ("prime_cli.commands.update:update", "Update prime."),
    },
    unlisted={"fork": ("prime_cli.commands.env.fork:fork", "Copy an environment.")},
    aliases={
        "key": "keys",
        "identity": "identities",
        "secrets": "secret",
        "team": "teams",
        "pod": "pods",
        "sandboxes": "sandbox",
        "disk": "disks",
        "ssh-key": "ssh-keys",
    },
    panels={
        "Hubs and accounts": "join logout whoami switch teams keys identities secret context hub",
        "Compute": "availability sandbox disks ssh-keys gc",
        "Settings": "config cache completion schema skills update",
    },
    callback=_root,
)


# --- From words to a command ---

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
    hint = f"see `{_help_for(error, path)}`"
    unknown = getattr(error, "option_name", None)
    if unknown and hasattr(error, "possibilities"):
        from prime_cli.commands.suggestions import unknown_option

        hint = f"see `{help_command(error.ctx)}`"
        raise unknown_option(error.ctx, path, unknown, argv, hint) from error
    if type(error).__name__ == "MissingParameter":
        raise UsageError(f"`{path}` needs {_wanted(error)}", hint=hint) from error
    if _EXTRA.search(error.format_message()):
        from prime_cli.commands.suggestions import official_words

        # `prime sandbox network create NAME`, where `network` takes a sandbox.
        if official := official_words(error.ctx, path, argv):
            raise official from error
    meant = _value_meant(error) or _command_meant(error.ctx)
    raise UsageError(_reworded(error), hint=meant or hint) from error


def _help_for(error: Any, path: str) -> str:
    """The help that lists the option which an error of Typer's is about."""
    parameter, name = getattr(error, "param", None), getattr(error, "option_name", None)
    if parameter is not None and _is_option(parameter):
        name = long_name(parameter)
    return help_command(error.ctx, name) if error.ctx and name else f"{path} --help"


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
