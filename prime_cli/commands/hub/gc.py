"""`prime hub gc`."""

import typer

from prime_cli.commands.hub.options import DatabaseOpt, DataOpt, StorageOpt, open_hub_data
from prime_cli.commands.options import DryRunOpt, OutputOpt, QuietOpt, open_session


def gc(
    ctx: typer.Context,
    data: DataOpt = None,
    database: DatabaseOpt = None,
    storage: StorageOpt = None,
    dry_run: DryRunOpt = False,
    output: OutputOpt = None,
    quiet: QuietOpt = False,
) -> None:
    """Delete what nobody needs any more.

    That is blobs which no version names, uploads and logins that were never finished. May be run
    while the hub serves; blobs of the last hour are left alone.

    \b
    Example:
      prime hub gc --dry-run
    \b
    See also: `prime hub backup`.
    """
    session = open_session(ctx, output=output, quiet=quiet)
    hub = open_hub_data(data, database, storage)

    from prime_cli.hub.maintenance.garbage import collect_garbage, find_garbage

    garbage = (find_garbage if dry_run else collect_garbage)(hub, session.progress)
    verb = "Would delete" if dry_run else "Deleted"
    session.output.done(f"{verb} {garbage.blobs} blobs with {garbage.bytes} bytes", value=garbage)
