"""Asking a hub the same again and again, through moments in which it does not answer."""

import time
from collections.abc import Callable, Iterator
from typing import TypeVar

from prime_cli.core.errors import Offline, Unreachable

POLL_SECONDS = 5.0
_MOST_FAILURES = 5

Answer = TypeVar("Answer")


def polled(
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
