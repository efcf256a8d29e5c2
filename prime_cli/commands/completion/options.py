"""What `prime completion install` and `uninstall` share."""

import os
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from prime_cli.core.errors import UsageError
from prime_cli.session import Session
from prime_cli.shells.detection import detect_shell
from prime_cli.shells.installation import Change, apply_change
from prime_cli.shells.places import Place, place_for


class Shell(StrEnum):
    """The shells that there is a script for."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"
    POWERSHELL = "powershell"


ShellArg = Annotated[
    Shell | None,
    typer.Argument(
        metavar="[SHELL]", help="bash, zsh, fish or powershell.", show_default="the one in use"
    ),
]


def place_of(session: Session, shell: Shell | None) -> Place:
    """Where completion of `shell` belongs, by default of the one that is typed into."""
    name = str(shell) if shell else detect_shell(os.environ)
    try:
        home = Path.home()
    except RuntimeError as error:
        raise UsageError("There is no home folder", hint="set HOME") from error
    return place_for(name, home=home, prime_home=session.config.home.value, environ=os.environ)


def carry_out(
    session: Session, changes: tuple[Change, ...], *, dry_run: bool, yes: bool, done: str
) -> None:
    """Show what would change; unless that is all, ask about the user's own files, and do it."""
    users = [change.path for change in changes if change.is_users]
    if dry_run or (users and not yes):
        _show(session, changes, as_data=dry_run)
    if dry_run:
        session.output.say("Nothing was written" if changes else "Nothing would change")
        return
    if users:
        session.output.confirm(f"Change {users[0]}?", yes=yes, otherwise="Nothing was changed")
    for change in changes:
        apply_change(change)
    session.output.done(done, value={"changed": [str(change.path) for change in changes]})


def _show(session: Session, changes: tuple[Change, ...], *, as_data: bool) -> None:
    if not as_data:
        for change in changes:
            session.output.tell(f"{change.path}: {change.told}")
            if change.line:
                session.output.tell(f"  {change.line}")
        return
    records = [{"path": str(change.path), "change": _told(change)} for change in changes]
    rows = [[record["path"], record["change"]] for record in records]
    session.output.table(["File", "Change"], rows, records=records)


def _told(change: Change) -> str:
    return f"{change.told}: {change.line}" if change.line else change.told
