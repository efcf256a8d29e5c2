"""`prime disks get`."""

import typer

from prime_cli.commands.disks.words import DiskArg
from prime_cli.commands.options import ContextOpt, OfflineOpt, OutputOpt, QuietOpt, open_session
from prime_cli.commands.pods.words import price_words
from prime_cli.pods.disks import DiskDetail, detailed, find_disk, place_of


def get(
    ctx: typer.Context,
    disk: DiskArg,
    output: OutputOpt = None,
    quiet: QuietOpt = False,
    context: ContextOpt = None,
    offline: OfflineOpt = None,
) -> None:
    """Show all of a disk.

    \b
    Example:
      prime disks get data
      prime disks get data --output json
    \b
    See also: `prime disks list`, `prime disks terminate`.
    """
    session = open_session(ctx, output=output, quiet=quiet, context=context, offline=offline)
    found = find_disk(session.hub, disk)
    whole = detailed(found)
    session.output.show(whole, lines=_lines(whole, place_of(found)))


def _lines(disk: DiskDetail, place: str) -> list[tuple[str, str]]:
    told = [
        ("name", disk.name or "-"),
        ("id", disk.id),
        ("status", disk.status),
        ("size", f"{disk.size} GB"),
        ("provider", disk.provider),
        ("place", place),
        ("price/h", price_words(disk.price_hr)),
        ("team", disk.team_id or ""),
        ("created", disk.created_at),
        ("terminated", disk.terminated_at or ""),
        ("pods", ", ".join(disk.pods) or "none"),
        ("clusters", ", ".join(disk.clusters)),
    ]
    return [(label, text) for label, text in told if text]
