"""`prime hub backup`."""

from pathlib import Path
from typing import Annotated

import typer

from prime_cli.commands.hub.options import DatabaseOpt, DataOpt, StorageOpt, open_hub_data
from prime_cli.commands.options import ForceOpt, OutputOpt, QuietOpt, open_session
from prime_cli.core.errors import Conflict


def backup(
    ctx: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The tar file to write.")],
    data: DataOpt = None,
    database: DatabaseOpt = None,
    storage: StorageOpt = None,
    force: ForceOpt = False,
    output: OutputOpt = None,
    quiet: QuietOpt = False,
) -> None:
    """Write everything of a hub to one file, while it serves.

    The file holds digests of keys and encrypted secrets, and what is private: keep it like the
    hub itself.

    \b
    Example:
      prime hub backup /backups/hub.tar
    \b
    See also: `prime hub restore`.
    """
    session = open_session(ctx, output=output, quiet=quiet)
    if file.exists() and not force:
        raise Conflict(f"{file} is there already", hint="overwrite it with `--force`")
    hub = open_hub_data(data, database, storage)

    from prime_cli.hub.maintenance.backup import write_backup

    manifest = write_backup(hub, file, session.progress)
    versions = manifest.rows["versions"]
    session.output.done(
        f"Wrote {versions} versions and {manifest.blobs} blobs to {file}", value=manifest
    )
