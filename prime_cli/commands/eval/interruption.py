"""How a command ends that a signal has stopped."""

import typer

from prime_cli.session import Session

_SIGNALLED = 128
"""What a shell adds to the number of the signal that ended a process."""


def leave_if_signalled(session: Session, signal: int | None, command: str | None) -> None:
    """Name the `command` that goes on, if there is one, and exit; nothing without a `signal`."""
    if signal is None:
        return
    if command is not None:
        session.output.hint(f"what was finished is kept; go on with `{command}`")
    raise typer.Exit(_SIGNALLED + signal)
