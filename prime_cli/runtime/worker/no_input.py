"""A sys.stdin where nobody types, and breakpoints where nobody debugs.

Also loaded on its own by `try_import.py`: nothing of this package is imported here.
"""

import io
import sys
from typing import Any, NoReturn, Optional

ASKS = "it asks for input, and nobody can type here"
NO_DEBUGGER = "a breakpoint stops only in a run with `--debug`"


class BreakpointReached(RuntimeError):
    """A debugger was started where there is no terminal."""


class NoInput(io.TextIOWrapper):
    """What waits for a line fails at once.

    Without the error, code that asks until it likes the answer would ask forever. Reading to the
    end, as of a pipe, finds nothing. `told` is what is typed into a debugger, None for a failure.
    """

    told: Optional[str] = None

    def readline(self, *_: Any) -> Any:
        if not _is_called_by("pdb"):
            raise EOFError(ASKS)
        if self.told is None:
            # It would take an EOFError for a `quit`, which says nothing of the reason.
            raise BreakpointReached(NO_DEBUGGER)
        return self.told

    def __next__(self) -> NoReturn:
        raise StopIteration


def refuse_input(*, skip_breakpoints: bool = False) -> None:
    """Replace sys.stdin, whose descriptor is the null device, and the debugger that would read it.

    A process without a controlling terminal has getpass read sys.stdin, too. Breakpoints raise, or
    are passed over.
    """
    sys.stdin = stream = NoInput(sys.stdin.buffer, encoding="utf-8")
    stream.told = "continue\n" if skip_breakpoints else None

    def stop(*_: Any, **__: Any) -> None:
        if not skip_breakpoints:
            raise BreakpointReached(NO_DEBUGGER)

    sys.breakpointhook = stop


def _is_called_by(module: str) -> bool:
    frame = sys._getframe(1)  # noqa: SLF001
    while frame is not None and frame.f_globals.get("__name__") != module:
        frame = frame.f_back  # type: ignore[assignment]
    return frame is not None
