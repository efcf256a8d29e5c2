"""`…/@{version}/lock`: the lock that hubs of ours keep beside a version."""

from prime_cli.api.connection import Connection
from prime_cli.api.environments import version_path
from prime_cli.core.errors import NotFound
from prime_cli.core.refs import EnvRef
from prime_cli.wire.locks import Lock


class Locks:
    """What was resolved for a version's wheel; hubs without `locks` in their features have none."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def get(self, ref: EnvRef) -> Lock | None:
        """The lock of a version, None when the hub has none for it."""
        try:
            answer = self._connection.call("GET", f"{version_path(ref)}/lock")
        except NotFound:
            return None
        return answer.read(Lock)

    def put(self, ref: EnvRef, lock: Lock) -> None:
        """Attach `lock` to a version."""
        self._connection.call("PUT", f"{version_path(ref)}/lock", body=lock)
