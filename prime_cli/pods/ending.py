"""Giving pods back, and waiting until they are gone."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from prime_cli.api.client import HubClient
from prime_cli.core.errors import NotFound, PartialResult, PrimeError, Unreachable
from prime_cli.core.progress import Progress, Task
from prime_cli.pods.details import billed_so_far
from prime_cli.wire.pods import DELETING, TERMINATED, Pod

WAIT_SECONDS = 300.0
"""Clouds take a minute or two to give a machine back."""
_POLL_SECONDS = 2.0


@dataclass(frozen=True)
class Target:
    """A pod that is to end.

    `owner` is whose it is, where that is not the user: an admin of the hub may end what no list
    shows to the admin.
    """

    pod: Pod
    owner: str | None = None


@dataclass(frozen=True)
class Ending:
    """What came of ending one pod.

    `status` is TERMINATED once it is gone, DELETING before, and that of the pod where `error` kept
    it from being ended. `billed` (USD) is about what it had come to, `owner` as in Target.
    """

    id: str
    name: str | None
    status: str
    billed: float | None
    error: PrimeError | None = None
    owner: str | None = None

    @property
    def title(self) -> str:
        """Its name, else its id, and whose it is where that is not the user."""
        of_whom = f" of `{self.owner}`" if self.owner else ""
        return f"`{self.name or self.id}`{of_whom}"


def end_pods(
    hub: HubClient,
    targets: Sequence[Target],
    progress: Progress,
    *,
    now: datetime,
    wait: bool = True,
    sleep: Callable[[float], None] = time.sleep,
    clock: Callable[[], float] = time.monotonic,
) -> list[Ending]:
    """Ask for the end of each pod and, if `wait`, stay until they are gone, for five minutes.

    What fails for one is kept in its Ending, and the others are ended all the same.
    """
    with progress.task("Ending pods", total=len(targets), unit="pods") as task:
        endings = [_ask(hub, target, now) for target in targets]
        return _wait(hub, endings, task, sleep, clock) if wait else endings


def _ask(hub: HubClient, target: Target, now: datetime) -> Ending:
    pod = target.pod
    ending = Ending(pod.id, pod.name, DELETING, billed_so_far(pod, now), owner=target.owner)
    try:
        hub.pods.terminate(pod.id)
    except NotFound:  # its deadline, or somebody else, was faster
        return replace(ending, status=TERMINATED)
    except PrimeError as error:
        return replace(ending, status=pod.shown_status, error=error)
    return ending


def _wait(
    hub: HubClient,
    endings: list[Ending],
    task: Task,
    sleep: Callable[[float], None],
    clock: Callable[[], float],
) -> list[Ending]:
    until = clock() + WAIT_SECONDS
    while True:
        before = _count_under_way(endings)
        endings = [_look(hub, each) for each in endings]
        left = _count_under_way(endings)
        task.advance(before - left)
        if not left:
            return endings
        if clock() > until:
            return [_late(each) for each in endings]
        sleep(_POLL_SECONDS)


def _count_under_way(endings: Sequence[Ending]) -> int:
    return sum(each.status == DELETING and each.error is None for each in endings)


def _look(hub: HubClient, ending: Ending) -> Ending:
    if ending.status != DELETING or ending.error is not None:
        return ending
    try:
        gone = _is_gone(hub, ending)
    except Unreachable:
        return ending  # it was asked for; whether it is done is looked at again
    return replace(ending, status=TERMINATED) if gone else ending


def _is_gone(hub: HubClient, ending: Ending) -> bool:
    try:
        if ending.owner is not None:
            return hub.pods.endable(ending.id).terminated_at is not None
        return all(state.status == TERMINATED for state in hub.pods.states([ending.id]))
    except NotFound:
        return True


def _late(ending: Ending) -> Ending:
    if ending.status != DELETING or ending.error is not None:
        return ending
    minutes = int(WAIT_SECONDS // 60)
    error = PartialResult(
        f"{ending.title} was asked to end, and is still there after {minutes} minutes",
        hint=f"`prime pods terminate {ending.id}` asks again",
    )
    return replace(ending, error=error)
