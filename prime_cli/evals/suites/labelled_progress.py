"""What several runs say at once, each line with the evaluation that it is of."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from prime_cli.core.progress import Progress, Task


class Labelled:
    """A Progress that names its evaluation; several of them may share `progress` from threads."""

    def __init__(self, progress: Progress, label: str, lock: threading.Lock) -> None:
        self._progress = progress
        self._label = label
        self._lock = lock

    @contextmanager
    def task(
        self, description: str, *, total: int | None = None, unit: str = "items"
    ) -> Iterator[Task]:
        """A bar under the evaluation's own name, which says more than `description`."""
        with self._lock:
            drawn = self._progress.task(self._label, total=total, unit=unit)
            task = drawn.__enter__()
        try:
            yield task
        finally:
            with self._lock:
                drawn.__exit__(None, None, None)

    def say(self, message: str) -> None:
        """One line, labelled."""
        with self._lock:
            self._progress.say(f"[{self._label}] {message}")

    def warn(self, message: str, *, hint: str | None = None) -> None:
        """One warning, labelled."""
        with self._lock:
            self._progress.warn(f"[{self._label}] {message}", hint=hint)
