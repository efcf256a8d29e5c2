"""Giving pods back, and waiting until they are gone."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from prime_cli.api.client import HubClient
from prime_cli.core.errors import NotFound, PartialResult, PrimeError, Unreachable, UsageError
from prime_cli.core.progress import Progress, Task
from prime_cli.pods.details import billed_so_far
from prime_cli.pods.past import Found, find_present_or_past
from prime_cli.wire.pods import DELETING, TERMINATED, Pod

WAIT_SECONDS = 300.0
"""Clouds take a minute or two to give a machine back."""
_POLL_SECONDS = 2.0


@dataclass(frozen=True)
class Wanted:
    """What several words mean: pods that are there, pods that ended, and nothing."""

    present: Sequence[Pod]
    ended: Sequence[Found]
    unknown: Sequence[PrimeError]


@dataclass(frozen=True)
class Ending:
    """What came of ending one pod.

    `status` is TERMINATED once it is gone, DELETING before, and that of the pod where `error` kept
    it from being ended. `billed` (USD) is about what it had come to.
    """

    id: str
    name: str | None
    status: str
    billed: float | None
    error: PrimeError | None = None

    @property
    def title(self) -> str:
        """Its name, else its id."""
        return self.name or self.id


def find_wanted(hub: HubClient, words: Sequence[str]) -> Wanted:
    """What each of `words` means, every pod once; raises what keeps the hub from answering."""
    present: dict[str, Pod] = {}
    ended: dict[str, Found] = {}
    unknown: list[PrimeError] = []
    for word in words:
        try:
            found = find_present_or_past(hub, word)
        except (NotFound, UsageError) as error:
            unknown.append(error)
            continue
        if isinstance(found, Found):
            ended[found.pod.id] = found
        else:
            present[found.id] = found
    return Wanted(list(present.values()), list(ended.values()), unknown)


def end_pods(
    hub: HubClient,
    pods: Sequence[Pod],
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
    with progress.task("Ending pods", total=len(pods), unit="pods") as task:
        endings = [_ask(hub, pod, now) for pod in pods]
        return _wait(hub, endings, task, sleep, clock) if wait else endings


def _ask(hub: HubClient, pod: Pod, now: datetime) -> Ending:
    ending = Ending(pod.id, pod.name, DELETING, billed_so_far(pod, now))
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
        states = hub.pods.states([ending.id])
    except NotFound:
        states = []
    except Unreachable:
        return ending  # it was asked for; whether it is done is looked at again
    gone = all(state.status == TERMINATED for state in states)
    return replace(ending, status=TERMINATED) if gone else ending


def _late(ending: Ending) -> Ending:
    if ending.status != DELETING or ending.error is not None:
        return ending
    minutes = int(WAIT_SECONDS // 60)
    error = PartialResult(
        f"`{ending.title}` was asked to end, and is still there after {minutes} minutes",
        hint=f"`prime pods status {ending.title}` shows how it goes",
    )
    return replace(ending, error=error)
