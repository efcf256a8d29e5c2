"""A cache of what is computed from evaluations."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

T = TypeVar("T")


class Cache(Generic[T]):
    """Values by the state of what they were computed from; the `most` that were used last.

    A state never comes back, so values need not be dropped when it changes. May be used by threads.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._guard = threading.Lock()
        self._values: OrderedDict[Hashable, T] = OrderedDict()

    def get(self, state: Hashable, compute: Callable[[], T]) -> T:
        """The value of `state`, computed if it is not known; what `compute` raises is not kept."""
        with self._guard:
            if state in self._values:
                self._values.move_to_end(state)
                return self._values[state]
        value = compute()
        with self._guard:
            self._values[state] = value
            while len(self._values) > self._most:
                self._values.popitem(last=False)
        return value
