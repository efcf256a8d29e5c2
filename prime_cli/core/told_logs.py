"""What the hub in this process would write to its log, told to whoever uses it."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from prime_cli.core.progress import Progress


class _Teller(logging.Handler):
    """Tells each sentence once: a provider that fails does so at every look."""

    def __init__(self, progress: Progress) -> None:
        super().__init__(logging.WARNING)
        self._progress = progress
        self._told: set[str] = set()

    def emit(self, record: logging.LogRecord) -> None:
        text = record.getMessage()
        if record.exc_info and record.exc_info[1] is not None:
            text = f"{text}: {record.exc_info[1]!r}"
        if text not in self._told:
            self._told.add(text)
            self._progress.warn(text)


@contextmanager
def telling_warnings(logger: str, progress: Progress) -> Iterator[None]:
    """While this lasts, what is logged below `logger` is a warning of `progress`, once.

    Without a handler Python would print the bare sentence to stderr.
    """
    teller = _Teller(progress)
    logging.getLogger(logger).addHandler(teller)
    try:
        yield
    finally:
        logging.getLogger(logger).removeHandler(teller)
