"""One question to SkyPilot at a time, whose answer serves all who wait for it."""

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from prime_cli.core.errors import Conflict, Unreachable
from prime_cli.core.file_locks import locked

T = TypeVar("T")


def take_turn(file: Path, seconds: float, kept: Callable[[], T | None], ask: Callable[[], T]) -> T:
    """What `kept` finds of an answer in `file`, else what `ask` is answered, and keeps there.

    A question costs seconds and 160 MB, and a minute while SkyPilot's server starts: clients that
    lose patience and ask again must not have it asked again. Raises Unreachable when another has
    been at it for `seconds`, and what `ask` raises.
    """
    found = kept()
    if found is not None:
        return found
    try:
        with locked(file.with_suffix(".lock"), seconds=seconds):
            found = kept()
            return ask() if found is None else found
    except Conflict as error:
        raise Unreachable(
            "SkyPilot is being asked, and has not answered yet",
            hint="try again in a minute: it takes that while its server starts",
        ) from error
