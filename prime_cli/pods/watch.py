"""Follow what changes: poll a hub, compare two listings, and read a pod's log as it grows."""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from prime_cli.api.client import HubClient
from prime_cli.core.errors import NotFound, Offline, Unreachable
from prime_cli.pods.disks import ListedDisk
from prime_cli.pods.history import HistoryMatch
from prime_cli.pods.listing import ListedPod
from prime_cli.wire.pods import TERMINATED, Pod

POLL_SECONDS = 5.0
_MOST_FAILURES = 5

Answer = TypeVar("Answer")


def poll(
    ask: Callable[[], Answer],
    *,
    seconds: float = POLL_SECONDS,
    sleep: Callable[[float], None] = time.sleep,
) -> Iterator[Answer]:
    """What `ask` returns, with `seconds` between; it ends when nobody takes the next.

    Once there was an answer, Unreachable is raised only after five failures in a row: a laptop
    changes networks, and a hub is started anew.
    """
    yield ask()
    failures = 0
    while True:
        sleep(seconds)
        try:
            answer = ask()
        except Offline:
            raise
        except Unreachable:
            failures += 1
            if failures == _MOST_FAILURES:
                raise
        else:
            failures = 0
            yield answer


Shown = TypeVar("Shown", bound=ListedPod | ListedDisk)


def changed(before: Iterable[Shown], now: Sequence[Shown]) -> list[Shown]:
    """Those that are new or not as they were; one that is gone is told as TERMINATED."""
    known = {each.id: each for each in before}
    present = {each.id for each in now}
    gone = [replace(each, status=TERMINATED) for each in known.values() if each.id not in present]
    return [*gone, *(each for each in now if known.get(each.id) != each)]


def new_lines(before: Sequence[str], now: Sequence[str]) -> Sequence[str]:
    """The lines of `now` that were not in `before`, both being the last lines of one log.

    All of them where nothing of `before` is left.
    """
    for shared in range(min(len(before), len(now)), 0, -1):
        if list(before[-shared:]) == list(now[:shared]):
            return now[shared:]
    return now


_LOG_POLL_SECONDS = 2.0


@dataclass(frozen=True)
class LogChunk:
    """Lines of a log, each ended by a newline."""

    logs: str


def read_log(hub: HubClient, found: Pod | HistoryMatch, lines: int) -> LogChunk:
    """The last `lines` of the log; none where a hub keeps no log of a pod that ended."""
    return _piece(_read(hub, found, lines))


def follow_log(
    hub: HubClient,
    found: Pod | HistoryMatch,
    lines: int,
    *,
    sleep: Callable[[float], None] = time.sleep,
) -> Iterator[LogChunk]:
    """The last `lines`, and then what is added, until the pod has ended."""
    before: list[str] = []
    for now, ended in poll(
        lambda: _read_state(hub, found, lines), seconds=_LOG_POLL_SECONDS, sleep=sleep
    ):
        yield _piece([*new_lines(before, now)])
        if ended:
            return
        before = now


def _read_state(hub: HubClient, found: Pod | HistoryMatch, lines: int) -> tuple[list[str], bool]:
    """The log, and whether the pod had ended before it was read, so that nothing is missed."""
    if not isinstance(found, Pod):
        return _read(hub, found, lines), True
    ended = all(state.status == TERMINATED for state in hub.pods.states([found.id]))
    try:
        return _read(hub, found, lines), ended
    except NotFound:
        return [], True


def _read(hub: HubClient, found: Pod | HistoryMatch, lines: int) -> list[str]:
    if isinstance(found, Pod):
        return hub.pods.log(found.id, lines).splitlines()[-lines:]
    try:
        return hub.pods.log(found.pod.id, lines).splitlines()[-lines:]
    except NotFound:
        return []


def _piece(lines: list[str]) -> LogChunk:
    return LogChunk("".join(f"{line}\n" for line in lines))
