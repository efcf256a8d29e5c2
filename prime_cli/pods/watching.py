"""What changed between two listings of pods or of disks, and between two looks at a log."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TypeVar

from prime_cli.pods.disks import ListedDisk
from prime_cli.pods.listing import ListedPod
from prime_cli.wire.pods import TERMINATED

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
