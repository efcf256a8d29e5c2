"""What changed between two listings of pods, and between two looks at a log."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from prime_cli.pods.listing import ListedPod
from prime_cli.wire.pods import TERMINATED


def changed(before: Iterable[ListedPod], now: Sequence[ListedPod]) -> list[ListedPod]:
    """Those that are new or not as they were; one that is gone is told as TERMINATED."""
    known = {pod.id: pod for pod in before}
    present = {pod.id for pod in now}
    gone = [replace(pod, status=TERMINATED) for key, pod in known.items() if key not in present]
    return [*gone, *(pod for pod in now if known.get(pod.id) != pod)]


def new_lines(before: Sequence[str], now: Sequence[str]) -> Sequence[str]:
    """The lines of `now` that were not in `before`, both being the last lines of one log.

    All of them where nothing of `before` is left.
    """
    for shared in range(min(len(before), len(now)), 0, -1):
        if list(before[-shared:]) == list(now[:shared]):
            return now[shared:]
    return now
