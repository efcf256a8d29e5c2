"""`prime env lock`."""

from pathlib import Path
from typing import Annotated

import typer

from prime_cli.commands.options import (
    ContextOpt,
    DryRunOpt,
    OfflineOpt,
    OutputOpt,
    PythonOpt,
    QuietOpt,
    open_session,
)
from prime_cli.core.errors import GateFailed
from prime_cli.core.phrases import counted
from prime_cli.envs.installed import list_installed
from prime_cli.envs.locking.changes import LockChange, changes_between, stale_reasons
from prime_cli.envs.locking.file import EnvironmentLock, write_lock
from prime_cli.envs.locking.place import LockPlace, find_place
from prime_cli.envs.locking.resolve import resolve_lock, resolve_words
from prime_cli.envs.locking.wants import LockOrder
from prime_cli.envs.workspace import find_workspace, site_packages
from prime_cli.session import Session

_COLUMNS = ("Environment", "Locked", "Then")


def lock(
    ctx: typer.Context,
    environments: Annotated[
        list[str] | None,
        typer.Argument(help="To be added, or taken in their newest version; several."),
    ] = None,
    upgrade: Annotated[
        bool, typer.Option("--upgrade", "-U", help="Take the newest version of everything.")
    ] = False,
    remove: Annotated[
        list[str] | None,
        typer.Option("--remove", metavar="NAME", help="Take one out of the lock; repeatable."),
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Only end with 1 when pyproject.toml wants another.")
    ] = False,
    dry_run: DryRunOpt = False,
    python: PythonOpt = None,
    output: OutputOpt = None,
    quiet: QuietOpt = False,
    context: ContextOpt = None,
    offline: OfflineOpt = None,
) -> None:
    """Write versions and hashes of environments into prime.lock.

    Locked are those that `[tool.prime] environments` of pyproject.toml lists; without a list
    those that are locked already and those that are named, else what is installed. What is
    locked keeps its version, unless it is named or `--upgrade` is given.

    \b
    Example:
      prime env lock starter/alphabet-sort ada/wordle@1.2
      prime env lock --upgrade --dry-run
    \b
    See also: `prime env sync`, `prime env outdated`, `prime env diff`.
    """
    session = open_session(ctx, output=output, quiet=quiet, context=context, offline=offline)
    here = Path.cwd()
    place = find_place(here)
    if check:
        _check(place, session)
        return
    named = resolve_words(environments or (), lambda: session.hub, here, session.progress)
    installed = list_installed(site_packages(find_workspace(python)))
    order = LockOrder(named, remove or (), upgrade, installed)
    with session.progress.task("Locking"):
        made = resolve_lock(
            place,
            order,
            lambda: session.hub,
            session.progress,
            offline=session.config.offline,
        )
    changes = changes_between(place.current, made)
    if not dry_run and (place.lock is None or made != place.lock):
        write_lock(place.file, made)
    _show(session, place, made, changes, dry_run=dry_run)


def _check(place: LockPlace, session: Session) -> None:
    reasons = stale_reasons(place)
    if reasons:
        raise GateFailed(
            "prime.lock is not what is wanted",
            hint="run `prime env lock`",
            detail="\n".join(reasons),
        )
    session.output.done(f"{place.file} is what is wanted", value={"file": str(place.file)})


def _show(
    session: Session,
    place: LockPlace,
    made: EnvironmentLock,
    changes: tuple[LockChange, ...],
    *,
    dry_run: bool,
) -> None:
    output = session.output
    if changes and not output.is_json:
        rows = [[each.environment, each.before or "-", _then(each)] for each in changes]
        output.table(_COLUMNS, rows, records=changes)
    count = counted(len(made.environments), "environment")
    verb = "Would lock" if dry_run else "Locked"
    sentence = f"{verb} {count} in {place.file}"
    if not changes:
        sentence = f"{place.file} holds {count} and needs no change"
    record = {"file": str(place.file), "environments": made.environments, "changes": changes}
    output.done(sentence, value=record)


def _then(change: LockChange) -> str:
    return f"{change.after} (other bytes)" if change.rehashed else change.after or "-"
