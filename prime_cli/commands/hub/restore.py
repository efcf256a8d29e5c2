"""`prime hub restore`."""

from pathlib import Path
from typing import Annotated

import typer

from prime_cli.commands.hub.options import DatabaseOpt, DataOpt, StorageOpt, open_hub_data
from prime_cli.commands.options import OutputOpt, QuietOpt, open_session


def restore(
    ctx: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="What `prime hub backup` wrote.")],
    data: DataOpt = None,
    database: DatabaseOpt = None,
    storage: StorageOpt = None,
    output: OutputOpt = None,
    quiet: QuietOpt = False,
) -> None:
    """Fill an empty hub from a backup.

    It may have another kind of database or storage than the hub that was backed up.

    \b
    Example:
      prime hub restore hub.tar --database postgresql://hub@db/hub
    \b
    See also: `prime hub backup`.
    """
    session = open_session(ctx, output=output, quiet=quiet)
    hub = open_hub_data(data, database, storage, new=True)

    from prime_cli.hub.maintenance.restore import read_backup

    manifest = read_backup(hub, file, session.progress)
    versions = manifest.rows["versions"]
    session.output.done(
        f"Restored {versions} versions and {manifest.blobs} blobs into {hub.database.name}",
        value=manifest,
    )
