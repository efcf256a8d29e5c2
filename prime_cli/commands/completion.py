"""`prime completion …`."""

import os
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from prime_cli.commands.base import group
from prime_cli.commands.contract import WRITES
from prime_cli.commands.options import YES, DryRunOpt, common_options, local_options, open_session
from prime_cli.core.errors import UsageError
from prime_cli.session import Session
from prime_cli.terminal.shells.detection import CompletionPaths, completion_paths, detect_shell
from prime_cli.terminal.shells.installation import (
    FileEdit,
    apply_change,
    plan_installation,
    plan_removal,
)
from prime_cli.terminal.static_help import completion_script

_HERE = "prime_cli.commands.completion"

app = group(
    "Set up shell completion.",
    {
        "install": (f"{_HERE}:install", "Install completion for a shell."),
        "uninstall": (f"{_HERE}:uninstall", "Remove installed completion."),
        "bash": (f"{_HERE}:bash", "Print the bash completion script."),
        "zsh": (f"{_HERE}:zsh", "Print the zsh completion script."),
        "fish": (f"{_HERE}:fish", "Print the fish completion script."),
        "powershell": (f"{_HERE}:powershell", "Print the PowerShell completion script."),
    },
    aliases={"pwsh": "powershell"},
)


class Shell(StrEnum):
    """The shells that there is a script for."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"
    POWERSHELL = "powershell"


ShellArg = Annotated[
    Shell | None,
    typer.Argument(
        metavar="[SHELL]", help="bash, zsh, fish or powershell.", show_default="the one in use"
    ),
]


class PlannedEdit(msgspec.Struct, frozen=True):
    """What `--dry-run` would change in a file."""

    path: str
    change: str


class ChangedFiles(msgspec.Struct, frozen=True):
    """The files that were changed."""

    changed: list[str]


def _paths_for(session: Session, shell: Shell | None) -> CompletionPaths:
    """Where completion of `shell` belongs, by default of the one that is typed into."""
    name = str(shell) if shell else detect_shell(os.environ)
    try:
        home = Path.home()
    except RuntimeError as error:
        raise UsageError("There is no home folder", hint="set HOME") from error
    return completion_paths(
        name, home=home, prime_home=session.config.home.value, environ=os.environ
    )


def _apply(session: Session, changes: tuple[FileEdit, ...], *, dry_run: bool, done: str) -> None:
    """Show what would change; unless that is all, ask about the user's own files, and do it."""
    users = [change.path for change in changes if change.is_users]
    if dry_run or (users and not session.yes):
        _show(session, changes, as_data=dry_run)
    if dry_run:
        session.output.say("Nothing was written" if changes else "Nothing would change")
        return
    if users:
        session.output.confirm(f"Change {users[0]}?", otherwise="Nothing was changed")
    for change in changes:
        apply_change(change)
    session.output.done(done, value=ChangedFiles([str(change.path) for change in changes]))


def _show(session: Session, changes: tuple[FileEdit, ...], *, as_data: bool) -> None:
    if not as_data:
        for change in changes:
            session.output.tell(f"{change.path}: {change.summary}")
            if change.line:
                session.output.tell(f"  {change.line}")
        return
    records = [PlannedEdit(str(change.path), _describe(change)) for change in changes]
    rows = [[record.path, record.change] for record in records]
    session.output.table(["File", "Change"], rows, records=records)


def _describe(change: FileEdit) -> str:
    return f"{change.summary}: {change.line}" if change.line else change.summary


@local_options(YES, "dry_run", answer=(ChangedFiles, list[PlannedEdit]), effects=WRITES)
def install(
    ctx: typer.Context,
    shell: ShellArg = None,
    dry_run: DryRunOpt = False,
) -> None:
    """Install completion for a shell.

    fish loads the script automatically; for bash, zsh and PowerShell this adds one line to
    .bashrc, .zshrc or the profile, after showing it. Run it again after upgrading prime.

    \b
    Example:
      prime completion install
      prime completion install zsh --dry-run

    See also: `prime completion uninstall`, `prime completion bash`.
    """
    session = open_session(ctx)
    place = _paths_for(session, shell)
    changes = plan_installation(place, completion_script(place.shell))
    if not changes and not dry_run:
        told = f"Completion for {place.shell} is already installed"
        session.output.done(told, value=ChangedFiles([]))
        return
    done = f"Installed completion for {place.shell}: start a new shell to use it"
    _apply(session, changes, dry_run=dry_run, done=done)


@local_options(YES, "dry_run", answer=(ChangedFiles, list[PlannedEdit]), effects=WRITES)
def uninstall(
    ctx: typer.Context,
    shell: ShellArg = None,
    dry_run: DryRunOpt = False,
) -> None:
    """Remove installed completion.

    Removes the script and the line in the shell's startup file.

    \b
    Example:
      prime completion uninstall zsh

    See also: `prime completion install`.
    """
    session = open_session(ctx)
    place = _paths_for(session, shell)
    changes = plan_removal(place)
    if not changes and not dry_run:
        told = f"Completion for {place.shell} is not installed"
        session.output.done(told, value=ChangedFiles([]))
        return
    done = f"Removed completion for {place.shell} from new shells"
    _apply(session, changes, dry_run=dry_run, done=done)


@common_options(effects=())
def bash() -> None:
    """Print the bash completion script.

    It is static: no Python is started while you type.

    \b
    Example:
      eval "$(prime completion bash)"     # in ~/.bashrc

    See also: `prime completion install`.
    """
    typer.echo(completion_script("bash"), nl=False)


@common_options(effects=())
def zsh() -> None:
    """Print the zsh completion script.

    It is static: no Python is started while you type. You can also save it as `_prime` in a folder
    of fpath.

    \b
    Example:
      eval "$(prime completion zsh)"      # in ~/.zshrc

    See also: `prime completion install`.
    """
    typer.echo(completion_script("zsh"), nl=False)


@common_options(effects=())
def fish() -> None:
    """Print the fish completion script.

    It is static: no Python is started while you type.

    \b
    Example:
      prime completion fish | source      # in config.fish

    See also: `prime completion install`.
    """
    typer.echo(completion_script("fish"), nl=False)


@common_options(effects=())
def powershell() -> None:
    """Print the PowerShell completion script.

    It is static: no Python is started while you type.

    \b
    Example:
      prime completion powershell | Out-String | Invoke-Expression

    See also: `prime completion install`.
    """
    typer.echo(completion_script("powershell"), nl=False)
