"""`prime env sync`."""

from pathlib import Path
from typing import Annotated

import msgspec
import typer

from prime_cli.commands.contract import BUILDS
from prime_cli.commands.env.install import ask_about_changes
from prime_cli.commands.options import YES, DryRunOpt, PythonOpt, hub_options, open_session
from prime_cli.core.errors import ExitCode, GateFailed, UsageError
from prime_cli.core.formatting import pluralize
from prime_cli.envs.install.sources import InstallOptions
from prime_cli.envs.install.workspace import Workspace, find_workspace
from prime_cli.envs.lockfile.file import FILENAME, EnvironmentLock, LockLocation, find_lock_location
from prime_cli.envs.lockfile.sync import (
    SyncChange,
    SyncPlan,
    compare_workspace,
    plan_sync,
    run_sync,
)
from prime_cli.envs.lockfile.update import ensure_lock, require_lock, stale_reasons
from prime_cli.session import Session

_COLUMNS = ("Package", "Now", "Then", "Why")


class SyncState(msgspec.Struct, frozen=True):
    """What `--check` found; `lock` says why the lock does not match pyproject.toml."""

    in_sync: bool
    lock: tuple[str, ...] = ()
    changes: tuple[SyncChange, ...] = ()


class SyncResult(msgspec.Struct, frozen=True):
    """What was changed in the workspace."""

    workspace: str
    changes: tuple[SyncChange, ...]


@hub_options(
    YES, answer=(SyncResult, SyncState, list[SyncChange]), effects=BUILDS, exits=ExitCode.GATE
)
def sync(
    ctx: typer.Context,
    check: Annotated[
        bool, typer.Option("--check", help="Change nothing; exit 1 if out of sync.")
    ] = False,
    dry_run: DryRunOpt = False,
    locked: Annotated[
        bool, typer.Option("--locked", help="Exit 1 if the lock does not match pyproject.toml.")
    ] = False,
    frozen: Annotated[
        bool, typer.Option("--frozen", help="Use prime.lock without checking pyproject.toml.")
    ] = False,
    inexact: Annotated[
        bool, typer.Option("--inexact", help="Keep environments that are not locked.")
    ] = False,
    python: PythonOpt = None,
) -> None:
    """Sync the workspace with prime.lock.

    Installs exactly the locked wheels; a wrong sha256 exits with 8. Removes environments from a
    hub that are not locked. First locks new environments listed in pyproject.toml.

    \b
    Example:
      prime env sync
      prime env sync --check
    \b
    See also: `prime env lock`, `prime env outdated`, `prime env install`.
    """
    session = open_session(ctx)
    if locked and frozen:
        raise UsageError("`--locked` and `--frozen` are mutually exclusive")
    place = find_lock_location(Path.cwd())
    workspace = find_workspace(python)
    stale: tuple[str, ...] = ()
    if check or dry_run:
        lock, stale = _lock_as_it_is(place, session, frozen=frozen, dry_run=dry_run)
    else:
        lock = ensure_lock(
            place,
            lambda: session.hub,
            session.progress,
            offline=session.config.offline,
            locked=locked,
            frozen=frozen,
        )
    found = compare_workspace(lock, workspace, exact=not inexact)
    if check:
        _check(found, stale, workspace, session)
    elif dry_run:
        _show_changes(found, workspace, session)
    else:
        _sync(lock, found, workspace, session)


def _lock_as_it_is(
    place: LockLocation, session: Session, *, frozen: bool, dry_run: bool
) -> tuple[EnvironmentLock, tuple[str, ...]]:
    """The lock, and why it is not what is wanted; for those who change nothing."""
    require_lock(place, frozen=frozen)
    stale = () if frozen else stale_reasons(place)
    if dry_run:
        for reason in stale:
            session.output.say(reason)
    return place.current, stale


def _check(
    found: tuple[SyncChange, ...], stale: tuple[str, ...], workspace: Workspace, session: Session
) -> None:
    target = workspace.folder or workspace.python
    if stale or found:
        if session.output.is_json:
            session.output.show(SyncState(in_sync=False, lock=stale, changes=found))
        raise GateFailed(
            f"{target} is not in sync with {FILENAME}",
            hint="run `prime env sync`",
            detail="\n".join([*stale, *(f"{each.name}: {each.why}" for each in found)]),
        )
    session.output.done(f"{target} is in sync with {FILENAME}", value=SyncState(in_sync=True))


def _show_changes(found: tuple[SyncChange, ...], workspace: Workspace, session: Session) -> None:
    rows = [[each.name, each.before or "-", each.after or "-", each.why] for each in found]
    title = f"In {workspace.folder or workspace.python}"
    if found or session.output.is_json:
        session.output.table(_COLUMNS, rows, records=found, title=title)
    else:
        session.output.say(f"{title} nothing would change")


def _sync(
    lock: EnvironmentLock,
    found: tuple[SyncChange, ...],
    workspace: Workspace,
    session: Session,
) -> None:
    options = InstallOptions(offline=session.config.offline, trust=session.trust_policy())
    plan = plan_sync(
        lock,
        found,
        workspace,
        options,
        hub=lambda: session.hub,
        here=Path.cwd(),
        progress=session.progress,
    )
    if plan.install is not None:
        ask_about_changes(plan.install, session.output)
    run_sync(plan, workspace, options, session.progress)
    _show_done(plan, lock, workspace, session)


def _show_done(
    plan: SyncPlan, lock: EnvironmentLock, workspace: Workspace, session: Session
) -> None:
    output, target = session.output, workspace.folder or workspace.python
    for change in plan.changes:
        output.say(_line(change))
    count = pluralize(len(lock.environments), "environment")
    sentence = f"{target} now has the {count} of {FILENAME}"
    if not plan.changes:
        sentence = f"{target} is already in sync with {FILENAME} ({count})"
    output.done(sentence, value=SyncResult(str(target), plan.changes))


def _line(change: SyncChange) -> str:
    """As uv tells it: `+ wordle 1.2`."""
    if change.after is None:
        return f"- {change.name} {change.before} ({change.why})"
    if change.before is None:
        return f"+ {change.name} {change.after}"
    if change.before == change.after:
        return f"~ {change.name} {change.after} ({change.why})"
    return f"~ {change.name} {change.before} to {change.after}"
