"""`prime disks update`."""

from typing import Annotated

import typer

from prime_cli.commands.disks.words import DiskArg
from prime_cli.commands.options import ContextOpt, OfflineOpt, OutputOpt, QuietOpt, open_session
from prime_cli.core.completion_cache import forget, remember
from prime_cli.pods.disks import find_disk


def update(
    ctx: typer.Context,
    disk: DiskArg,
    name: Annotated[str, typer.Option("--name", help="What it is called from now on.")],
    output: OutputOpt = None,
    quiet: QuietOpt = False,
    context: ContextOpt = None,
    offline: OfflineOpt = None,
) -> None:
    """Call a disk otherwise.

    \b
    Example:
      prime disks update disk-1f2e3d4c --name data
    \b
    See also: `prime disks list`.
    """
    session = open_session(ctx, output=output, quiet=quiet, context=context, offline=offline)
    hub = session.hub
    found = find_disk(hub, disk)
    hub.disks.rename(found.id, name)
    forget("disks", [found.name])
    remember("disks", [name, found.id])
    session.output.done(
        f"The disk `{found.name}` is called `{name}` now", value={"id": found.id, "name": name}
    )
