"""`prime disks terminate`."""

import typer

from prime_cli.commands.disks.words import DiskArg
from prime_cli.commands.options import (
    ContextOpt,
    OfflineOpt,
    OutputOpt,
    QuietOpt,
    YesOpt,
    open_session,
)
from prime_cli.core.completion_cache import forget
from prime_cli.core.errors import Conflict
from prime_cli.core.formatting import first_few
from prime_cli.pods.disks import find_disk
from prime_cli.wire.disks import Disk


def terminate(
    ctx: typer.Context,
    disk: DiskArg,
    yes: YesOpt = False,
    output: OutputOpt = None,
    quiet: QuietOpt = False,
    context: ContextOpt = None,
    offline: OfflineOpt = None,
) -> None:
    """Give a disk back, with all that is on it.

    Nobody can bring that back. A disk that a pod has is left alone: end the pod first.

    \b
    Example:
      prime disks terminate data
      prime disks terminate data --yes
    \b
    See also: `prime disks list`, `prime pods terminate`.
    """
    session = open_session(ctx, output=output, quiet=quiet, context=context, offline=offline)
    hub = session.hub
    found = find_disk(hub, disk)
    _require_free(found)
    described = f"the disk `{found.name}` ({found.size} GB of {found.provider_type})"
    session.output.confirm(
        f"Terminate {described} and all that is on it?",
        yes=yes,
        otherwise="Nothing was terminated",
    )
    ended = hub.disks.terminate(found.id)
    forget("disks", [found.name, found.id])
    session.output.done(
        f"Terminated {described}",
        value={"id": found.id, "name": found.name, "status": ended.status},
    )


def _require_free(disk: Disk) -> None:
    """Raise Conflict while a pod or a cluster has it."""
    if disk.pods:
        raise Conflict(
            f"The disk `{disk.name}` is attached to the pod {first_few(disk.pods)}",
            hint=f"end that first: `prime pods terminate {disk.pods[0]}`",
        )
    if disk.clusters:
        raise Conflict(
            f"The disk `{disk.name}` is attached to a cluster: {first_few(disk.clusters)}"
        )
