"""How a pod is, by what is in its folder and by who keeps it."""

from datetime import UTC, datetime

from prime_cli.hub.compute.local.boot import current_boot
from prime_cli.hub.compute.local.folder import (
    ACTIVE,
    ERROR,
    PROVISIONING,
    STOPPED,
    PodFolder,
    State,
)
from prime_cli.hub.compute.local.lock import is_kept, last_keeper
from prime_cli.hub.compute.local.processes import Process, find_process
from prime_cli.hub.compute.local.resuming import why_not
from prime_cli.hub.compute.provider import PodStatus, SshAddress


def see_pod(folder: PodFolder, host: str) -> PodStatus | None:
    """What there is of a pod; None where there is nothing. `host` is where pods are reached."""
    kept, state = is_kept(folder), folder.read_state()
    if not folder.path.is_dir():
        return None
    if not kept:
        seen = _see_unkept(folder, state)
        # Somebody may have started it since.
        return see_pod(folder, host) if is_kept(folder) else seen
    state = state or State(PROVISIONING)
    again = _moment(state)
    if state.status == STOPPED or (state.status == ACTIVE and running_keeper(folder) is None):
        # Its keeper is about to go, or somebody is about to start another one.
        return PodStatus(PROVISIONING, 0, started_again=again)
    if state.status != ACTIVE:
        return PodStatus(state.status, state.progress, state.failure, started_again=again)
    plan = folder.read_plan()
    return PodStatus(
        ACTIVE,
        progress=state.progress,
        addresses=(SshAddress(state.login, plan.host if plan else host, state.port),),
        host_keys=(state.host_key,),
        started_again=again,
    )


def running_keeper(folder: PodFolder) -> Process | None:
    """The keeper that is alive; never a process that has its number by now."""
    keeper = last_keeper(folder)
    if keeper is None or keeper.boot != current_boot():
        return None
    return find_process(keeper.pid, keeper.start)


def has_its_own(folder: PodFolder) -> bool:
    """Whether a pod has what it was given: also one whose keeper is gone, as something of it may
    run, and it may be started again. Of one that failed nothing is left but files.
    """
    state = folder.read_state()
    return is_kept(folder) or (state is not None and state.status != ERROR)


def _see_unkept(folder: PodFolder, state: State | None) -> PodStatus:
    again, failure = _moment(state), why_not(folder, current_boot())
    if failure is None:
        return PodStatus(PROVISIONING, 0, started_again=again, is_resumable=True)
    return PodStatus(ERROR, failure=failure, started_again=again)


def _moment(state: State | None) -> datetime | None:
    return datetime.fromtimestamp(state.again, UTC) if state and state.again else None
