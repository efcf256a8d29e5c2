"""Starting a pod again that nobody keeps any more, though it is neither over nor to end.

That is so after a start of the machine, when somebody told its keeper to go (as every process is
when a machine shuts down), and when its keeper was killed. The last of these is helped once an hour
and no more: what kills keepers would do so without end.
"""

import time

from prime_cli.hub.compute.local.folder import DELETING, ERROR, STOPPED, PodFolder, State
from prime_cli.hub.compute.local.lock import Keeper, last_keeper

CRASHES_APART = 3600.0
"""Seconds between two keepers that died by themselves, with which a pod is started again."""


def why_not(folder: PodFolder, boot: str) -> str | None:
    """Why a pod that nobody keeps is not started again in this start of the machine; None where it
    is.
    """
    state = folder.read_state() or State(ERROR, failure="Nothing is known of how it was")
    if state.status == ERROR:
        return state.failure or "It failed"
    if folder.is_ending or state.status == DELETING:
        return "It was being ended, and whoever did that is gone"
    missing = _missing(folder)
    if missing is not None:
        return f"Its folder is not whole: `{missing}` is not there"
    plan = folder.read_plan()
    if plan is None or plan.stop_at <= time.time():
        return "Its time is over"
    if is_crash(state, last_keeper(folder), boot) and _was_helped(state):
        return "Its keeper was killed twice within an hour; once that is over, it is started again"
    return None


def is_crash(state: State, keeper: Keeper | None, boot: str) -> bool:
    """Whether a keeper that is gone was killed, while the machine went on."""
    return keeper is not None and keeper.boot == boot and state.status != STOPPED


def _was_helped(state: State) -> bool:
    # A moment that is yet to come was written by a clock that was wrong.
    return abs(time.time() - state.crashed) < CRASHES_APART


def _missing(folder: PodFolder) -> str | None:
    wanted = (folder.plan, folder.lock, folder.ssh / "session", folder.ssh / "authorized_keys")
    for path, is_there in (
        *((path, path.is_file()) for path in wanted),
        (folder.said, folder.said.is_fifo()),
        (folder.home, folder.home.is_dir()),
    ):
        if not is_there:
            return str(path.relative_to(folder.path))
    return None
