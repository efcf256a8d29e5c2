"""What the environment's own code warns of while it loads and in its first rollouts.

It goes to the log as before. Heard are warnings and log records of the environment's own files, not
of verifiers or of other libraries, and lines that these files print and that read like a warning.
"""

import builtins
import logging
import re
import sys
import warnings
from collections.abc import Callable, Collection
from typing import Any

FIRST_ROLLOUTS = 8
"""So many are listened to."""
MOST = 20
LONGEST = 500
_CAUTION = re.compile(
    r"\b(?:warning|not found|could not|couldn't|cannot|can't|unable to|failed to|missing|"
    r"fall(?:ing)? ?back|fallback|synthetic|placeholder|instead)\b",
    re.IGNORECASE,
)


class Cautions:
    """Calls `tell(text)` once for each text, until the first rollouts are over."""

    def __init__(self, own: Collection[str], tell: Callable[[str], None]) -> None:
        self._own = tuple(own)
        self._tell = tell
        self._told: set[str] = set()
        self._rollouts = 0

    def listen(self) -> None:
        self._hear_records()
        self._hear_warnings()
        self._hear_prints()

    def rollout_ended(self) -> None:
        self._rollouts += 1

    def _hear_records(self) -> None:
        call = logging.Logger.callHandlers

        # A handler of ours would keep `logging.basicConfig` from adding the environment's.
        def heard(logger: logging.Logger, record: logging.LogRecord) -> None:
            if record.levelno >= logging.WARNING:
                self._hear(record.pathname, record.getMessage)
            call(logger, record)

        logging.Logger.callHandlers = heard  # type: ignore[assignment,method-assign]

    def _hear_warnings(self) -> None:
        show = warnings.showwarning

        def heard(message: Any, category: Any, filename: str, *rest: Any, **named: Any) -> None:
            self._hear(filename, lambda: str(message))
            show(message, category, filename, *rest, **named)

        warnings.showwarning = heard

    def _hear_prints(self) -> None:
        show = builtins.print

        def heard(*values: Any, **named: Any) -> None:
            show(*values, **named)
            texts = [value for value in values if isinstance(value, str)]
            if any(map(_CAUTION.search, texts)):
                file = sys._getframe(1).f_code.co_filename  # noqa: SLF001 - only that is quick
                self._hear(file, lambda: " ".join(texts))

        builtins.print = heard

    def _hear(self, filename: str, text: Callable[[], str]) -> None:
        if (
            self._rollouts >= FIRST_ROLLOUTS
            or len(self._told) >= MOST
            or not self._is_own(filename)
        ):
            return
        try:
            said = text()[:LONGEST]
        except Exception:  # a record whose arguments do not fit: logging reports that itself
            return
        if said.strip() and said not in self._told:
            self._told.add(said)
            self._tell(said)

    def _is_own(self, filename: str) -> bool:
        for name in self._own:
            file = getattr(sys.modules.get(name), "__file__", None) or ""
            folder = file.removesuffix("__init__.py") if file.endswith("__init__.py") else None
            if filename == file or (folder and filename.startswith(folder)):
                return True
        return False
