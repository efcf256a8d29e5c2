"""A cache of what is computed from evaluations."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

T = TypeVar("T")


class _Turn:
    """What the threads that want one value take turns by; kept until the last of them has gone."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.threads = 0


class Cache(Generic[T]):
    """Values by the state of what they were computed from; the `most` that were used last.

    A state never comes back, so values need not be dropped when it changes. Of threads that ask
    for the same one, the first computes it and the others wait.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._guard = threading.Lock()
        self._values: OrderedDict[Hashable, T] = OrderedDict()
        self._turns: dict[Hashable, _Turn] = {}

    def get(self, state: Hashable, compute: Callable[[], T]) -> T:
        """The value of `state`, computed if it is not known.

        What `compute` raises is not kept: one of those who waited tries again.
        """
        with self._guard:
            if state in self._values:
                return self._used(state)
            turn = self._turns.setdefault(state, _Turn())
            turn.threads += 1
        try:
            with turn.lock:
                with self._guard:
                    if state in self._values:
                        return self._used(state)
                return self._keep(state, compute())
        finally:
            with self._guard:
                turn.threads -= 1
                if not turn.threads:
                    del self._turns[state]

    def _used(self, state: Hashable) -> T:
        self._values.move_to_end(state)
        return self._values[state]

    def _keep(self, state: Hashable, value: T) -> T:
        with self._guard:
            self._values[state] = value
            while len(self._values) > self._most:
                self._values.popitem(last=False)
        return value
