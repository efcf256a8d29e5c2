"""How a pod is, from what its folder says and what SkyPilot calls its cluster."""

from prime_cli.hub.compute.provider import Seen
from prime_cli.hub.compute.sky.folders import ClusterFolder
from prime_cli.hub.compute.sky.installation import sentence
from prime_cli.wire.pods import ACTIVE, DELETING, ERROR, PROVISIONING, STOPPED, UNKNOWN

_STEPS = (
    ("Setup detached", 90),
    ("Syncing files", 80),
    ("Cluster launched", 75),
    ("Instance is up", 50),
    ("Launching on", 20),
    ("Considered resources", 10),
)
"""What SkyPilot says on its way, latest first, in percent of it."""


def see_at_work(folder: ClusterFolder) -> Seen | None:
    """A pod that a process makes or ends just now; None where nobody does."""
    if folder.is_ending:
        return Seen(DELETING)
    if folder.is_launching:
        return Seen(PROVISIONING, progress=_progress(folder))
    return None


def see_settled(folder: ClusterFolder, status: str | None, *, embedded: bool) -> Seen | None:
    """A pod at which nobody works, and whose cluster SkyPilot calls `status` (None: has none).

    None where there is nothing of it (any more).
    """
    launched = folder.launched
    failure = folder.not_ended or (launched if launched and "ok" not in launched else None)
    if failure is not None:
        return Seen(ERROR, failure=sentence(failure))
    if status is None:
        if launched is not None:  # it ended by itself, at its deadline or by somebody's hand
            folder.remove()
        return None
    if launched is None:
        return Seen(ERROR, failure="Its launch was interrupted, and SkyPilot has a part of it")
    return _of_cluster(folder, status, embedded=embedded)


def _of_cluster(folder: ClusterFolder, status: str, *, embedded: bool) -> Seen:
    match status:
        case "UP":
            addresses = folder.addresses(embedded=embedded)
            why = None if addresses else "It is up, and has no address that users of this hub reach"
            return Seen(ACTIVE if addresses else ERROR, 100, why, addresses)
        case "STOPPED":
            return Seen(STOPPED)
        case "AUTOSTOPPING":
            return Seen(DELETING)
        case _:
            why = f"SkyPilot calls it {status}: a part of it may be down"
            return Seen(UNKNOWN, failure=why)


def _progress(folder: ClusterFolder) -> int:
    log = folder.last_lines(200)
    return next((percent for words, percent in _STEPS if words in log), 0)
