"""`prime env lock` and `prime env outdated`."""

from pathlib import Path
from typing import Annotated

import msgspec
import typer

from prime_cli.commands.contract import WRITES
from prime_cli.commands.options import DryRunOpt, PythonOpt, hub_options, open_session
from prime_cli.core.errors import ExitCode, GateFailed
from prime_cli.core.formatting import pluralize
from prime_cli.core.refs import EnvRef
from prime_cli.envs.install.installed import list_installed
from prime_cli.envs.install.workspace import find_workspace
from prime_cli.envs.lockfile.file import LockedEnvironment, find_lock_location
from prime_cli.envs.lockfile.outdated import (
    EnvironmentUpdate,
    check_updates,
    find_local_environments,
    select_environments,
)
from prime_cli.envs.lockfile.resolve import LockOptions, resolve_references
from prime_cli.envs.lockfile.update import LockChange, LockUpdate, require_up_to_date, update_lock
from prime_cli.session import Session

_LOCK_COLUMNS = ("Environment", "Locked", "Then")


class LockResult(msgspec.Struct, frozen=True):
    """The lock that was written, or would be."""

    file: str
    environments: tuple[LockedEnvironment, ...]
    changes: tuple[LockChange, ...]


class MatchingLock(msgspec.Struct, frozen=True):
    """The lock that `--check` found to match."""

    file: str


@hub_options(
    answer=(LockResult, MatchingLock), effects=WRITES, exits=(ExitCode.GATE, ExitCode.ENVIRONMENT)
)
def lock(
    ctx: typer.Context,
    environments: Annotated[
        list[str] | None,
        typer.Argument(help="Environments to add or upgrade."),
    ] = None,
    upgrade: Annotated[
        bool, typer.Option("--upgrade", "-U", help="Upgrade everything to the newest version.")
    ] = False,
    remove: Annotated[
        list[str] | None,
        typer.Option(
            "--remove", metavar="NAME", help="Remove an environment from the lock; repeatable."
        ),
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Only exit 1 if it does not match pyproject.toml.")
    ] = False,
    dry_run: DryRunOpt = False,
    python: PythonOpt = None,
) -> None:
    """Lock environment versions and hashes in prime.lock.

    Locks the environments listed in `[tool.prime] environments` of pyproject.toml. Without a list,
    locks the arguments in addition to what is locked, or else what is installed. Locked
    environments keep their version unless they are arguments or `--upgrade` is given.

    \b
    Example:
      prime env lock starter/alphabet-sort ada/wordle@1.2
      prime env lock --upgrade --dry-run
    \b
    See also: `prime env sync`, `prime env outdated`, `prime env diff`.
    """
    session = open_session(ctx)
    here = Path.cwd()
    place = find_lock_location(here)
    if check:
        require_up_to_date(place)
        session.output.done(f"{place.file} is up to date", value=MatchingLock(str(place.file)))
        return
    named = resolve_references(environments or (), lambda: session.hub, here, session.progress)
    installed = list_installed(find_workspace(python).site_packages)
    order = LockOptions(named, remove or (), upgrade, installed)
    done = update_lock(
        place,
        order,
        lambda: session.hub,
        session.progress,
        offline=session.config.offline,
        dry_run=dry_run,
    )
    _show_lock(session, done, dry_run=dry_run)
    if upgrade and place.wanted is None:
        _name_the_pinned(session, done)


def _name_the_pinned(session: Session, done: LockUpdate) -> None:
    """Say what `--upgrade` left alone, as it is locked with the version that was typed."""
    pinned = [ref.slug for ref in map(_asked, done.lock.environments) if ref and ref.version]
    if pinned:
        verb = "stays" if len(pinned) == 1 else "stay"
        again = f"`prime env lock {' '.join(pinned)}` upgrades it"
        session.output.hint(f"{', '.join(pinned)} {verb} as asked for; {again}")


def _asked(entry: LockedEnvironment) -> EnvRef | None:
    return EnvRef.parse(entry.asked) if entry.asked else None


def _show_lock(session: Session, done: LockUpdate, *, dry_run: bool) -> None:
    output = session.output
    if done.changes and not output.is_json:
        rows = [[each.environment, each.before or "-", _then(each)] for each in done.changes]
        output.table(_LOCK_COLUMNS, rows, records=done.changes)
    count = pluralize(len(done.lock.environments), "environment")
    verb = "Would lock" if dry_run else "Locked"
    sentence = f"{verb} {count} in {done.file}"
    if not done.changes:
        sentence = f"{done.file} holds {count} and is unchanged"
    record = LockResult(str(done.file), done.lock.environments, done.changes)
    output.done(sentence, value=record)


def _then(change: LockChange) -> str:
    return f"{change.after} (other bytes)" if change.rehashed else change.after or "-"


_OUTDATED_COLUMNS = ("Environment", "Installed", "Locked", "Newest", "State")


class OutdatedEnvironments(msgspec.Struct, frozen=True):
    """Those that are not current; `total` is how many there are here."""

    environments: list[EnvironmentUpdate]
    total: int


@hub_options(
    answer=OutdatedEnvironments,
    record=EnvironmentUpdate,
    exits=(ExitCode.GATE, ExitCode.ENVIRONMENT),
)
def outdated(
    ctx: typer.Context,
    environments: Annotated[
        list[str] | None, typer.Argument(help="Only these: names or owner/name.")
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", "-a", help="Also show those that are current.")
    ] = False,
    exit_code: Annotated[
        bool, typer.Option("--exit-code", help="Exit 1 if anything is outdated, for CI.")
    ] = False,
    python: PythonOpt = None,
) -> None:
    """Show environments that have a newer version.

    Compares installed and locked environments with the newest version on the hub.

    \b
    Example:
      prime env outdated
      prime env outdated wordle --exit-code
    \b
    See also: `prime env diff`, `prime env lock`, `prime env sync`.
    """
    session = open_session(ctx)
    held = select_environments(environments or (), find_local_environments(Path.cwd(), python))
    with session.progress.task("Asking the hub", total=len(held)) as task:
        found = check_updates(
            held, lambda: session.hub, offline=session.config.offline, told=task.advance
        )
    _show_outdated(session, found, everything=everything)
    old = [each.environment for each in found if each.is_old]
    if exit_code and old:
        raise GateFailed(
            f"{len(old)} of {pluralize(len(found), 'environment')} "
            f"{'is' if len(old) == 1 else 'are'} outdated",
            hint=f"see what would change with `prime env diff {old[0]}`",
        )


def _show_outdated(
    session: Session, found: tuple[EnvironmentUpdate, ...], *, everything: bool
) -> None:
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
        page = OutdatedEnvironments(shown, len(found))
        session.output.table(_OUTDATED_COLUMNS, rows, records=shown, page=page)
    if any(each.is_old for each in shown):
        first = next(each for each in shown if each.is_old)
        session.output.hint(f"see what would change with `prime env diff {first.environment}`")
