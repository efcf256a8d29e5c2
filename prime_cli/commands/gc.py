"""`prime gc`."""

from collections.abc import Sequence

import msgspec
import typer

from prime_cli.client.pods.lookup import has_extensions
from prime_cli.client.pods.terminate import (
    find_local_files,
    remove_local_files,
)
from prime_cli.commands.contract import WRITES
from prime_cli.commands.options import YES, DryRunOpt, hub_options, open_session
from prime_cli.core.errors import ExitCode, PartialResult
from prime_cli.core.formatting import pluralize
from prime_cli.models.gateway.sockets import left_socket_folders, remove_left_sockets
from prime_cli.session import Session
from prime_cli.wire.pods import Leak
from prime_cli.wire.sandboxes import FEATURE as SANDBOXES

_COLUMNS = ("Kind", "Name", "Provider", "Owner", "Ended")


class FoundLeak(Leak, omit_defaults=False):
    """A leak with all its fields."""


class FoundLeaks(msgspec.Struct, frozen=True):
    """All leaks."""

    dry_run: bool
    leaks: list[FoundLeak]


@hub_options(YES, answer=FoundLeaks, record=FoundLeak, effects=WRITES, exits=ExitCode.PARTIAL)
def gc(
    ctx: typer.Context,
    dry_run: DryRunOpt = False,
) -> None:
    """Terminate orphaned and expired pods, disks and sandboxes.

    Finds machines without a pod, expired and failed pods, and orphaned disks: yours, or
    everybody's if you are an admin of the hub. Also removes local SSH aliases and host keys of
    terminated pods, and without asking what is left of sandboxes and of killed runs.

    \b
    Example:
      prime gc --dry-run
      prime gc --yes
    \b
    See also: `prime pods list`, `prime pods terminate`, `prime cache prune`.
    """
    session = open_session(ctx)
    hub, home = session.hub, session.config.home.value
    can_be_swept = has_extensions(hub)
    if not can_be_swept:
        session.output.say(f"{hub.host} cannot search for leaks: see `prime pods list`")
    leaks = hub.pods.sweep(dry_run=True).leaks if can_be_swept else []
    here = find_local_files(hub, home)
    if not dry_run:
        if any(leak.failure is None for leak in leaks):
            _confirm(session, leaks)
            leaks = hub.pods.sweep(dry_run=False).leaks
        here = remove_local_files(home, here)
    left = _sweep_sandboxes(session, dry_run=dry_run)
    left += _sweep_sockets(dry_run=dry_run)
    _show(session, [*leaks, *here, *left], dry_run=dry_run)


def _sweep_sandboxes(session: Session, *, dry_run: bool) -> list[Leak]:
    """Expired sandboxes, and remains of sandboxes that are gone."""
    if SANDBOXES not in session.hub.capabilities().features:
        return []
    swept = session.hub.sandboxes.sweep(dry_run=dry_run)
    found: list[tuple[str, str, str | None]] = [
        ("sandbox past its time", name, None) for name in swept.ended
    ]
    found += [("remains of a sandbox", name, None) for name in swept.removed]
    found += [("sandbox that does not end", why, why) for why in swept.failed]
    return [
        Leak(kind=kind, id=name, provider="", ended=not dry_run and why is None, failure=why)
        for kind, name, why in found
    ]


def _sweep_sockets(*, dry_run: bool) -> list[Leak]:
    """Sockets of runs that were killed."""
    found = left_socket_folders() if dry_run else remove_left_sockets()
    kind = "socket of a killed run"
    return [Leak(kind=kind, id=str(each), provider="", ended=not dry_run) for each in found]


def _confirm(session: Session, leaks: Sequence[Leak]) -> None:
    """Ask before something is ended that a person may still use."""
    for leak in leaks:
        if not session.yes and leak.failure is None:
            session.output.tell(_described(leak))
    count = sum(leak.failure is None for leak in leaks)
    what = "it and its data" if count == 1 else f"these {count} and their data"
    session.output.confirm(f"Terminate {what}?", otherwise="Nothing was terminated")


def _described(leak: Leak) -> str:
    """What it is, whose, and with the id by which an admin of the hub ends it."""
    owner = f" of {leak.owner}" if leak.owner else ""
    with_id = f" ({leak.id})" if leak.name else ""
    return f"{leak.kind}: {leak.title}{owner} at {leak.provider}{with_id}"


def _show(session: Session, found: Sequence[Leak], *, dry_run: bool) -> None:
    shown = session.output
    records = [FoundLeak(**msgspec.structs.asdict(each)) for each in found]
    if found or shown.is_json:
        page = FoundLeaks(dry_run, records)
        shown.table(_COLUMNS, [_row(each) for each in found], records=records, page=page)
    if not found:
        shown.done("No pod, disk or sandbox is orphaned or expired")
        return
    for each in found:
        if each.failure:
            shown.warn(f"{each.kind}: {each.title}: {each.failure}")
    if dry_run:
        shown.hint("terminate these with `prime gc`")
    elif failed := sum(not each.ended for each in found):
        raise PartialResult(f"{failed} of {pluralize(len(found), 'leak')} could not be terminated")


def _row(leak: Leak) -> list[str]:
    ended = "yes" if leak.ended else "failed" if leak.failure else "no"
    return [leak.kind, leak.title, leak.provider, leak.owner or "-", ended]
