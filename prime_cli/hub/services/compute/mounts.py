"""The disks that a new pod is given."""

from sqlalchemy import Connection, select

from prime_cli.core.errors import Conflict, NotAllowed, NotFound, UsageError
from prime_cli.hub.compute.provider import Mount
from prime_cli.hub.context import Caller
from prime_cli.hub.db.tables import disks, pod_disks, pods
from prime_cli.hub.services.compute.access import attachable_by, disks_of, is_live
from prime_cli.hub.services.compute.wishes import Choice
from prime_cli.wire.disks import ACTIVE
from prime_cli.wire.pods import PodCreation

_MOST_DISKS = 20


def find_mounts(
    connection: Connection, caller: Caller, creation: PodCreation, choice: Choice
) -> tuple[Mount, ...]:
    """The disks that are asked for; raises NotFound, NotAllowed, UsageError, and Conflict where
    one is in use.
    """
    wanted = list(dict.fromkeys(creation.disks))
    if len(wanted) > _MOST_DISKS:
        raise UsageError(f"More than {_MOST_DISKS} disks are given")
    allowed = attachable_by(caller).label("allowed")
    query = select(disks, allowed).where(disks.c.id.in_(wanted), disks_of(caller))
    rows = {row.id: row for row in connection.execute(query)}
    for disk_id in wanted:
        if disk_id not in rows:
            raise NotFound(f"Disk `{disk_id[:80]}` not found")
        if not rows[disk_id].allowed:
            raise NotAllowed(f"The disk `{rows[disk_id].name}` is of a team that you have left")
        if rows[disk_id].provider != choice.provider.name:
            raise UsageError(
                f"The disk `{rows[disk_id].name}` is of `{rows[disk_id].provider}`, and the pod "
                f"would be of `{choice.provider.name}`"
            )
        if rows[disk_id].status != ACTIVE:
            raise Conflict(f"The disk `{rows[disk_id].name}` is {rows[disk_id].status}")
    used = (
        select(disks.c.name)
        .join(pod_disks, pod_disks.c.disk_id == disks.c.id)
        .join(pods, pods.c.id == pod_disks.c.pod_id)
        .where(pod_disks.c.disk_id.in_(wanted), is_live())
    )
    taken = connection.execute(used).scalars().first()
    if taken is not None:
        raise Conflict(f"The disk `{taken}` is attached to another pod", hint="end that pod first")
    return tuple(Mount(each, rows[each].name, rows[each].tag) for each in wanted)
