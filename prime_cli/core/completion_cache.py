"""What prime has seen by name, for the Tab key: `$PRIME_HOME/completion/KIND`, one name a line.

Shells read these files while somebody types, so no Python starts. Names come from hubs, which may
be hostile: one that a shell could act upon is neither written nor, by the scripts, believed.
"""

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Literal

from prime_cli.core.errors import StorageFailed
from prime_cli.core.paths import prime_home, write_atomically

Kind = Literal["environments", "evaluations", "models", "pods", "disks", "ssh-keys"]

MOST = 500
"""Names kept of a kind: those seen last."""
_SAFE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]{0,199}")
_MOST_BYTES = MOST * 201


def remember(kind: Kind, names: Iterable[str]) -> None:
    """Have `names` completed from now on, the first of them as the newest.

    Writes only what changed, and nothing where the home cannot be written: an answer must not
    fail for the sake of the Tab key.
    """
    _update(kind, lambda known: [*names, *known])


def replace(kind: Kind, names: Iterable[str]) -> None:
    """Complete `names` from now on, and no others: these are all that there are."""
    _update(kind, lambda _: [*names])


def note(kind: Kind, names: Iterable[str], *, are_all: bool) -> None:
    """Complete `names` of a list: with the others, or alone where the list is whole."""
    (replace if are_all else remember)(kind, names)


def forget(kind: Kind, names: Iterable[str]) -> None:
    """Complete `names` no more: they were deleted."""
    gone = frozenset(names)
    _update(kind, lambda known: [name for name in known if name not in gone])


def remembered(kind: Kind) -> list[str]:
    """The names of this kind, the newest first."""
    return _read(_file(kind))


def _update(kind: Kind, change: Callable[[list[str]], list[str]]) -> None:
    try:
        file = _file(kind)
        known = _read(file)
        safe = (name for name in change(known) if _SAFE.fullmatch(name))
        wanted = list(dict.fromkeys(safe))[:MOST]
        if wanted != known:
            write_atomically(file, "".join(f"{name}\n" for name in wanted).encode("ascii"))
    except StorageFailed:
        # No home, or one that is full or read-only: whoever needs it to be written says so.
        return


def _file(kind: Kind) -> Path:
    return prime_home() / "completion" / kind


def _read(file: Path) -> list[str]:
    try:
        with file.open("rb") as opened:
            text = opened.read(_MOST_BYTES).decode("ascii", "replace")
    except OSError:
        return []
    return [name for name in text.splitlines() if _SAFE.fullmatch(name)]
