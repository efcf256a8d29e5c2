"""`prime env outdated`."""

from pathlib import Path
from typing import Annotated

import typer

from prime_cli.commands.options import (
    ContextOpt,
    OfflineOpt,
    OutputOpt,
    PythonOpt,
    QuietOpt,
    open_session,
)
from prime_cli.core.errors import GateFailed
from prime_cli.envs.lockfile.outdated import (
    EnvironmentUpdate,
    check_updates,
    find_local_environments,
    select_environments,
)
from prime_cli.session import Session

_COLUMNS = ("Environment", "Installed", "Locked", "Newest", "State")


def outdated(
    ctx: typer.Context,
    environments: Annotated[
        list[str] | None, typer.Argument(help="Only these: names or owner/name; several.")
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", "-a", help="Show those that are current, too.")
    ] = False,
    exit_code: Annotated[
        bool, typer.Option("--exit-code", help="End with 1 when anything is outdated, for CI.")
    ] = False,
    python: PythonOpt = None,
    output: OutputOpt = None,
    quiet: QuietOpt = False,
    context: ContextOpt = None,
    offline: OfflineOpt = None,
) -> None:
    """Show which environments have a newer version.

    Those that were installed from a hub and those in prime.lock are compared with the newest
    version on the hub.

    \b
    Example:
      prime env outdated
      prime env outdated wordle --exit-code
    \b
    See also: `prime env diff`, `prime env lock`, `prime env sync`.
    """
    session = open_session(ctx, output=output, quiet=quiet, context=context, offline=offline)
    held = select_environments(environments or (), find_local_environments(Path.cwd(), python))
    with session.progress.task("Asking the hub", total=len(held)) as task:
        found = check_updates(
            held, lambda: session.hub, offline=session.config.offline, told=task.advance
        )
    _show(session, found, everything=everything)
    old = [each.environment for each in found if each.is_old]
    if exit_code and old:
        raise GateFailed(
            f"{len(old)} of {len(found)} environments {'is' if len(old) == 1 else 'are'} outdated",
            hint=f"see what would change with `prime env diff {old[0]}`",
        )


def _show(session: Session, found: tuple[EnvironmentUpdate, ...], *, everything: bool) -> None:
    shown = [each for each in found if everything or each.standing != "current"]
    rows = [
        [
            each.environment,
            each.installed or "-",
            each.locked or "-",
            each.newest or "-",
            each.standing,
        ]
        for each in shown
    ]
    if not found:
        session.output.say("Nothing is installed from a hub or locked here")
    elif not shown:
        noun = "environment is" if len(found) == 1 else "environments are"
        session.output.say(f"{len(found)} {noun} here, and nothing is outdated")
    if rows or session.output.is_json:
        page = {"environments": shown, "total": len(found)}
        session.output.table(_COLUMNS, rows, records=shown, page=page)
    if any(each.is_old for each in shown):
        first = next(each for each in shown if each.is_old)
        session.output.hint(f"see what would change with `prime env diff {first.environment}`")
