"""`prime update`."""

import shlex
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from prime_cli import __version__
from prime_cli.commands.contract import BUILDS
from prime_cli.commands.options import YES, local_options, open_session
from prime_cli.core.errors import ResolveFailed, UsageError
from prime_cli.core.installation import CHECKOUT, Command, Installation, this_installation
from prime_cli.core.process import child_environment, run
from prime_cli.runtime.uv_tool import network_failure


class PlannedUpdate(msgspec.Struct, frozen=True):
    """How prime was installed, and the commands that update it."""

    version: str
    installed_by: str
    prefix: str
    project: str | None
    commands: tuple[Command, ...]


class UpdatedPrime(msgspec.Struct, frozen=True):
    """The version before and after."""

    before: str
    after: str


@local_options(YES, answer=(UpdatedPrime, PlannedUpdate), effects=BUILDS)
def update(
    ctx: typer.Context,
    check: Annotated[
        bool, typer.Option("--check", help="Show how prime is updated; change nothing.")
    ] = False,
) -> None:
    """Update prime.

    Runs the command for how prime was installed: by `uv tool`, pipx, in a virtual environment, or
    from a checkout, which is pulled first. Asks before anything changes.

    \b
    Example:
      prime update --check
      prime update --yes
    \b
    See also: `prime doctor`, `prime cache prune`.
    """
    session = open_session(ctx)
    found, output = this_installation(), session.output
    commands = found.update()
    if check:
        output.show(_record(found, commands), lines=_lines(found, commands))
        return
    if not found.knows_source and not Path(CHECKOUT).is_dir():
        raise UsageError(
            "Nothing says where this prime was installed from",
            hint=f"get a checkout as `{CHECKOUT}`, then run `{shlex.join(commands[-1])}`",
        )
    for command in commands:
        output.tell(f"$ {shlex.join(command)}")
    output.confirm("Run this?", otherwise="Nothing was changed")
    with session.progress.task("Updating prime"):
        for command in commands:
            _run(command)
    version = _installed_version(found)
    changed = f"from {__version__} to {version}" if version != __version__ else f"again: {version}"
    record = UpdatedPrime(__version__, version)
    output.done(f"Installed prime {changed}", value=record)


def _lines(found: Installation, commands: tuple[Command, ...]) -> list[tuple[str, str]]:
    return [
        ("version", __version__),
        ("installed by", found.manager),
        ("in", str(found.prefix)),
        *([("from", str(found.project))] if found.project else []),
        ("update with", "\n".join(map(shlex.join, commands))),
    ]


def _record(found: Installation, commands: tuple[Command, ...]) -> PlannedUpdate:
    return PlannedUpdate(
        version=__version__,
        installed_by=found.manager,
        prefix=str(found.prefix),
        project=str(found.project) if found.project else None,
        commands=commands,
    )


def _run(command: Command) -> None:
    """Run one of the commands; raises ResolveFailed, Unreachable, or UsageError without it."""
    try:
        completed = run(command, env=child_environment(installs=True))
    except FileNotFoundError as error:
        raise UsageError(
            f"`{command[0]}` is not on PATH", hint=f"install it, then run `{shlex.join(command)}`"
        ) from error
    if not completed.ok:
        raise network_failure(completed, offline=False) or ResolveFailed(
            f"`{shlex.join(command)}` failed",
            hint="fix the cause above, then run `prime update` again",
            detail=completed.last_lines(),
        )


def _installed_version(found: Installation) -> str:
    """What is there now: the modules of this process are those of before."""
    completed = run([found.python, "-m", "prime_cli", "--version"])
    return completed.out.strip().removeprefix("prime ") or __version__
