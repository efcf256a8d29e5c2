"""`/disks`: disks that outlive pods."""

from urllib.parse import quote

from prime_cli.api.connection import Connection
from prime_cli.wire.disks import Disk, DiskChange, DiskCreation, DiskPage
from prime_cli.wire.pods import Ended

_MOST_BYTES = 16 * 1024 * 1024


class Disks:
    """Disks of the user."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def page(self, *, offset: int = 0, limit: int = 100) -> DiskPage:
        """One page, the newest first."""
        query = {"offset": offset, "limit": limit}
        return self._connection.call("GET", "/disks", query=query, most=_MOST_BYTES).read_exactly(
            DiskPage
        )

    def get(self, disk_id: str) -> Disk:
        """One disk; raises NotFound."""
        return self._connection.call("GET", _path(disk_id)).read_exactly(Disk)

    def create(self, creation: DiskCreation) -> Disk:
        """Rent a disk; never asked for twice."""
        return self._connection.call(
            "POST", "/disks", body=creation, repeatable=False
        ).read_exactly(Disk)

    def rename(self, disk_id: str, name: str) -> None:
        """Call a disk otherwise."""
        self._connection.call("PATCH", _path(disk_id), body=DiskChange(name))

    def terminate(self, disk_id: str) -> Ended:
        """Give a disk back, with all that is on it."""
        said = self._connection.call("DELETE", _path(disk_id)).read_exactly(object)
        status = said.get("status") if isinstance(said, dict) else None
        # The published schema leaves the form of this answer open.
        return Ended(status) if isinstance(status, str) else Ended()


def _path(disk_id: str) -> str:
    return f"/disks/{quote(disk_id, safe='')}"
