"""`/pods`: machines that are rented."""

from collections.abc import Sequence
from urllib.parse import quote

from prime_cli.api.connection import Connection
from prime_cli.api.retries import was_never_sent
from prime_cli.core.errors import Offline, RateLimited, Unreachable
from prime_cli.wire.pods import (
    Endable,
    Ended,
    PastPage,
    Pod,
    PodCreation,
    PodPage,
    PodState,
    PodStates,
    Sweep,
    Swept,
    read_log,
)

_MOST_BYTES = 16 * 1024 * 1024
_CREATE_SECONDS = 120.0
_END_SECONDS = 120.0


class Pods:
    """Pods of the user; raises NotLoggedIn where the hub does not know who asks."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def page(self, *, offset: int = 0, limit: int = 100, seconds: float | None = None) -> PodPage:
        """One page of pods that are there, the newest first."""
        query = {"offset": offset, "limit": limit}
        return self._connection.call(
            "GET", "/pods", query=query, most=_MOST_BYTES, seconds=seconds
        ).read_exactly(PodPage)

    def get(self, pod_id: str) -> Pod:
        """One pod; raises NotFound."""
        return self._connection.call("GET", _path(pod_id), most=_MOST_BYTES).read_exactly(Pod)

    def states(self, pod_ids: Sequence[str]) -> list[PodState]:
        """How pods are; those that are not there are left out."""
        query = {"pod_ids": tuple(pod_ids)}
        answer = self._connection.call("GET", "/pods/status", query=query, most=_MOST_BYTES)
        return answer.read_exactly(PodStates).data or []

    def create(self, creation: PodCreation) -> Pod:
        """Rent a pod. It is never asked for twice: an answer that is lost may be of a pod.

        Then Unreachable says so, unless the request cannot have reached the hub.
        """
        try:
            return self._connection.call(
                "POST", "/pods", body=creation, seconds=_CREATE_SECONDS, repeatable=False
            ).read_exactly(Pod)
        except (Offline, RateLimited):
            raise
        except Unreachable as error:
            if was_never_sent(error.__cause__):
                raise
            raise Unreachable(
                f"{error.message}: a pod may have been made all the same",
                hint="look for it with `prime pods list` before you ask again",
            ) from error

    def terminate(self, pod_id: str) -> Ended:
        """Give a pod back; raises NotFound."""
        answer = self._connection.call("DELETE", _path(pod_id), seconds=_END_SECONDS)
        return answer.read_exactly(Ended)

    def endable(self, pod_id: str) -> Endable:
        """What whoever may end a pod has to know of it, on hubs with `pods` in their features.

        An admin of the hub may end pods that no list shows to the admin. Raises NotFound.
        """
        answer = self._connection.call("GET", f"{_path(pod_id)}/endable")
        return answer.read_exactly(Endable)

    def history(self, *, offset: int = 0, limit: int = 100) -> PastPage:
        """One page of pods that ended, the one that ended last first."""
        query = {"offset": offset, "limit": limit}
        return self._connection.call(
            "GET", "/pods/history", query=query, most=_MOST_BYTES
        ).read_exactly(PastPage)

    def log(self, pod_id: str, lines: int) -> str:
        """The last lines of a pod's log."""
        answer = self._connection.call(
            "GET", f"{_path(pod_id)}/log", query={"tail": lines}, most=_MOST_BYTES
        )
        return read_log(answer.read_exactly(object))

    def sweep(self, *, dry_run: bool, seconds: float = _END_SECONDS) -> Swept:
        """Find, and end, what costs without need; on hubs with `pods` in their features."""
        answer = self._connection.call(
            "POST", "/pods/sweep", body=Sweep(dry_run=dry_run), seconds=seconds
        )
        return answer.read_exactly(Swept)


def _path(pod_id: str) -> str:
    """An id is what a hub says, and stays one part of an address."""
    return f"/pods/{quote(pod_id, safe='')}"
