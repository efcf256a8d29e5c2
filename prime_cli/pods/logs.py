"""The log of a pod, once or as it grows."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from prime_cli.api.client import HubClient
from prime_cli.core.errors import NotFound
from prime_cli.pods.past import Found
from prime_cli.pods.polling import polled
from prime_cli.pods.watching import new_lines
from prime_cli.wire.pods import TERMINATED, Pod

_POLL_SECONDS = 2.0


@dataclass(frozen=True)
class Piece:
    """Lines of a log, each ended by a newline."""

    logs: str


def read_log(hub: HubClient, found: Pod | Found, lines: int) -> Piece:
    """The last `lines` of the log; none where a hub keeps no log of a pod that ended."""
    return _piece(_read(hub, found, lines))


def follow_log(
    hub: HubClient,
    found: Pod | Found,
    lines: int,
    *,
    sleep: Callable[[float], None] = time.sleep,
) -> Iterator[Piece]:
    """The last `lines`, and then what is added, until the pod has ended."""
    before: list[str] = []
    for now, ended in polled(lambda: _look(hub, found, lines), seconds=_POLL_SECONDS, sleep=sleep):
        yield _piece([*new_lines(before, now)])
        if ended:
            return
        before = now


def _look(hub: HubClient, found: Pod | Found, lines: int) -> tuple[list[str], bool]:
    """The log, and whether the pod had ended before it was read, so that nothing is missed."""
    if not isinstance(found, Pod):
        return _read(hub, found, lines), True
    ended = all(state.status == TERMINATED for state in hub.pods.states([found.id]))
    try:
        return _read(hub, found, lines), ended
    except NotFound:
        return [], True


def _read(hub: HubClient, found: Pod | Found, lines: int) -> list[str]:
    if isinstance(found, Pod):
        return hub.pods.log(found.id, lines).splitlines()[-lines:]
    try:
        return hub.pods.log(found.pod.id, lines).splitlines()[-lines:]
    except NotFound:
        return []


def _piece(lines: list[str]) -> Piece:
    return Piece("".join(f"{line}\n" for line in lines))
