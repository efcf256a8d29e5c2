"""Installing completion for a shell: a script of ours, and a line in the user's rc file."""

import os
from dataclasses import dataclass
from pathlib import Path

from prime_cli.core.errors import Conflict, UsageError
from prime_cli.core.paths import storage_errors, write_atomically
from prime_cli.shells.places import Place
from prime_cli.shells.rc_file import with_line, without_line

MADE_BY = "Made by `python -m prime_cli.commands.tree`"
"""What every script of ours says in its first lines."""
_HEAD = 500


@dataclass(frozen=True)
class Change:
    """What becomes of one file; `after` is its new content, None to remove it.

    `told` says it in words, and `line` is one that is put into a file that the user wrote, which
    `is_users` marks.
    """

    path: Path
    after: bytes | None
    told: str
    is_users: bool = False
    line: str = ""


def plan_installation(place: Place, script: str) -> tuple[Change, ...]:
    """What must change so that `place` has `script`; nothing if it is so already.

    Raises Conflict where the script would replace a file that is not ours.
    """
    changes = []
    wanted, there = script.encode("utf-8"), _read(place.script)
    if there is not None and not _is_ours(there):
        raise Conflict(
            f"{place.script} is there already and was not made by prime",
            hint="move it away, then run the same command again",
        )
    if there != wanted:
        changes.append(Change(place.script, wanted, "the script"))
    if place.rc is not None:
        before = _read(place.rc) or b""
        after = with_line(before, place.line)
        if after != before:
            changes.append(Change(place.rc, after, "this line", is_users=True, line=place.line))
    return tuple(changes)


def plan_removal(place: Place) -> tuple[Change, ...]:
    """What must change so that nothing of completion is left in `place`."""
    changes = []
    before = _read(place.rc) if place.rc is not None else None
    if place.rc is not None and before is not None and without_line(before) != before:
        after = without_line(before)
        changes.append(Change(place.rc, after, "without prime's line", is_users=True))
    there = _read(place.script)
    if there is not None and _is_ours(there):
        changes.append(Change(place.script, None, "removed"))
    return tuple(changes)


def apply_change(change: Change) -> None:
    """Write or remove the file, all of it or nothing; behind a link if it is one.

    Raises StorageFailed, and UsageError for an rc file of somebody else.
    """
    path = change.path.resolve()
    with storage_errors(path):
        before = path.stat() if path.exists() else None
    if before is not None and change.is_users and before.st_uid != _user(before.st_uid):
        raise UsageError(f"{path} belongs to another user", hint="run the command as that user")
    if change.after is None:
        with storage_errors(path):
            path.unlink(missing_ok=True)
        return
    mode = 0o644 if before is None else before.st_mode & 0o7777
    write_atomically(path, change.after, mode=mode)
    with storage_errors(path):
        path.chmod(mode)


def _user(default: int) -> int:
    """Whose process this is; on Windows, which has no such numbers, always the right one."""
    ask = getattr(os, "geteuid", None)
    return int(ask()) if ask else default


def _is_ours(content: bytes) -> bool:
    return MADE_BY.encode() in content[:_HEAD] or not content.strip()


def _read(path: Path) -> bytes | None:
    with storage_errors(path):
        try:
            return path.read_bytes()
        except FileNotFoundError:
            return None
